import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { pluralOf } from '../../../../../shared/provider/schema/crd.ts';
import { serviceApi } from '../../../../../shared/provider/service-api.ts';

/** What the library of kubebuilder and controller-gen has printed for these (flect v1.0.3). */
const PRINTED = `
Access accesses; Address addresses; Agenda agendas; Aircraft aircraft; Alarm alarms; Album albums
Alert alerts; Alias aliases; Alumna alumnae; Analysis analyses; Antenna antennas; Appendix appendices
Application applications; Archive archives; Area area; Argo argoes; Array arrays; Audio audios
Backup backups; Bacterium bacteria; Base bases; Bash bashes; Basis bases; Beacon beacons; Belief beliefs
Beta beta; Bitnami bitnamis; Blitz blitzes; Blouse blouses; Bonus bonuses; Boot boots; Boss bosses
Bot bots; Box boxes; Branch branches; Bridge bridges; Brief briefs; Brush brushes; Bucket buckets
Build builds; Bus buses; Buy buys; Buzz buzzes; Cache caches; Cactus cacti; Cafe caves; Calf calves
Camera cameras; Campus campuses; Canvas canvas; Cassis cassis; Certificate certificates; Chef chefs
Child children; Class classes; Cluster clusters; Code codes; Codex codices; Compass compasses
Complex complexes; Copy copies; Corpus corpora; Cranium crania; Criteria criteria; Criterion criteria
CronJob cronjobs; Crossplane crossplanes; Daemon daemons; Data data; Database databases; Datum data
Day days; Delta deltas; Demo demoes; Dex dexes; Die dice; Display displays; Dwarf dwarfs; Echo echoes
Edge edges; Egress egresses; Elf elves; Entry entries; Equipment equipment; Erratum errata
ExternalSecret externalsecrets; Fez fezzes; Field fields; Firefox firefoxes; Fish fish; Flux fluxes
Fly flies; Focus foci; Foo foos; Foot feet; Formula formulas; Forum forums; Fox foxes; Function functions
Gateway gateways; Gauge gauges; German germen; Giraffe girafves; Golf golves; Goose geese; Grafana grafanas
Grandchild grandchildren; Half halves; Halo halos; Helium helia; Henna hennas; Hero heroes; Hive hives
Hoof hoofs; House houses; Human humans; Idea idea; Image images; Inbox inboxes; Index indices
Information information; Ingress ingresses; Installation installations; Ion ions; Issuer issuers
Istio istios; Java javas; Job jobs; Kafka kafkas; Key keys; Kibana kibanas; Knife knives; Kro kroes
Kubeconfig kubeconfigs; Kyverno kyvernoes; Lambda lambda; Landscaper landscapers; Larva larvae
Latch latches; Lava lavas; Leaf leaves; Lens lens; Life lives; Linux linuxes; Loaf loaves; Logo logoes
Loose looses; Louse lice; Man men; Matrix matrices; Media media; Medium media; Memo memoes; Mesh meshes
Meta meta; Metrics metrics; Mix mixes; Mode modes; Money money; Mongo mongoes; Monkey monkeys; Moose moose
Mosquito mosquitos; Mouse mice; Museum museums; Mutex mutexes; Nebula nebulae; News news; Nexus nexuses
Nginx nginxes; Node nodes; Nova nova; OTel otels; Oasis oases; OpenBao openbaoes; Opera operas
Organization organizations; Ox oxen; Panda panda; Pass passes; Pasta pastas; Peninsula peninsula
Person people; Phenomenon phenomena; Photo photos; Piano pianos; Platinum platinums; Pokemon pokemons
Police police; Policy policies; Prefix prefixes; Premium premia; Prize prizes; Process processes
Prometheus prometheuses; Proof proofs; ProviderConfig providerconfigs; Proxmox proxmoxes; Proxy proxies
Push pushes; Quantum quanta; Quartz quartzes; Query queries; Queue queues; Quiz quizzes; Quota quotas
Radio radios; Radius radii; Ray rays; Redis redis; Regex regexes; Registry registries; Relay relays
Repo repoes; Restore restores; Rice rice; Robot robots; Roman romen; Roof roofs; Root roots; Safe saves
Salesperson salespeople; Sandbox sandboxes; Schema schemas; Search searches; Self selves; Series series
Service services; Settings settings; Shaman shamen; Sheep sheep; Shelf shelves; Shield shields; Shoe shoes
Silicon silicons; Size sizes; Sofa sofas; Soliloquy soliloquies; Species species; Spouse spouses
Stadium stadiums; Status statuses; Stomach stomaches; Stress stresses; Strife strives; Studio studios
Subscription subscriptions; Suffix suffixes; Surf surves; Talisman talismen; Tenant tenants; Thesis theses
Toe toes; Tomato tomatoes; Tool tools; Tooth teeth; Topaz topazes; Topic topics; Toy toys; Trigger triggers
Trio trios; Turf turves; Vacuum vacuums; Valkey valkeys; Vault vaults; Velero veleroes; Vertex vertices
Video videoes; Virus viruses; Vita vitae; Volume volumes; Warehouse warehouses; Watch watches
Wharf wharves; Wife wives; Wolf wolves; Woman women; Workspace workspaces; World worlds; Zoo zoos
`;
const pairs = PRINTED.trim()
  .split(/\s*[;\n]\s*/)
  .map((pair) => pair.split(' ') as [string, string]);

describe('the plural of a kind', () => {
  test.each(pairs)('%s: %s, or it has to be named', (kind, plural) => {
    expect([plural, undefined]).toContain(pluralOf(kind));
  });

  test.each(['Foo', 'Kyverno', 'Gateway', 'Policy', 'Class', 'Mesh', 'Flux', 'Box', 'Query', 'Istio', 'Subscription'])(
    '%s needs no name',
    (kind) => {
      expect(pluralOf(kind)).toBe(pairs.find(([one]) => one === kind)?.[1]);
    },
  );

  test.each(['Redis', 'Index', 'Status', 'Topaz'])('%s has to be named', (kind) => {
    const names = { group: 'bar.example.org', version: 'v1', kind, spec: z.object({}) };
    expect(() => serviceApi(names)).toThrow(`kind ${kind}: programs do not agree on its plural; set plural`);
    expect(serviceApi({ ...names, plural: kind.toLowerCase() }).type.plural).toBe(kind.toLowerCase());
  });
});
