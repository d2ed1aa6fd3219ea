/**
 * What tenants read holds nothing internal: no address of the platform or of kcp, no account, no namespace of the
 * platform. By value what is known of this installation, and by its looks what an error text says of it.
 */

/** What is known of the installation that a text may speak of. */
export interface Internal {
  /** Addresses of API servers, and what each is to people, such as `the platform cluster`. */
  readonly servers: ReadonlyMap<string, string>;
  /** Namespaces of the platform cluster, and workspaces of kcp that are not the tenant's. */
  readonly namespaces: ReadonlySet<string>;
  /** Namespaces of the tenant, which stay. */
  readonly own?: ReadonlySet<string>;
}

/**
 * Who chose the words. `author`: the provider's author, on purpose, so that public addresses stay. `anyone`: whatever an
 * error holds; then no address at all does.
 */
export type Words = 'author' | 'anyone';

export interface Concealed {
  readonly text: string;
  /** Something was taken out that the operator may want to know. */
  readonly hidden: boolean;
}

const ADDRESS = '[address]';
const ACCOUNT = '[account]';
const NAMESPACE = '[namespace]';

// Each pattern takes time that grows as the text does: what repeats is either met once, or bounded.
const URLS = /\b(?:https?|rediss?|wss?|tcp|udp|unix|grpcs?|ldaps?|ssh|git|oci|file):\/\/[^\s"'<>\\`]+/gi;
/** Of API servers, and of kcp alone. */
const PATHS = /(?<![\w.-])\/(?:apis?|clusters|services\/apiexport)\/[^\s"'<>\\`]*/g;
const KCP_PATHS = /(?<![\w.-])\/(?:clusters|services\/apiexport)\/[^\s"'<>\\`]*/g;
const BRACKETS = /\[([0-9A-Fa-f:.%]{2,64})\](?::\d{1,5})?/g;
const IPV4 = /(?<![\d.vV])\d{1,3}(?:\.\d{1,3}){3}(?![\w]|\.\d)(?::\d{1,5})?(\/\d{1,2})?/g;
/** Hosts, ports, IPv6 addresses and names of namespaces: whole runs of what they are made of. */
const RUNS = /[\w.:%-]+(?:\/(?=[\w]))?/g;
/** Errors of Node.js, undici and Go, whose next word is an address whatever it looks like. */
const CONTEXTS: readonly (readonly [RegExp, string])[] = [
  [/\b(certificate is valid for) [^\n"\\[]{1,1000}/g, `$1 ${ADDRESS}`],
  [/\b(certificate's altnames:) [^\n"\\[]{1,1000}/g, `$1 ${ADDRESS}`],
  [/\b((?:getaddrinfo|query[A-Z]{1,5}) E[A-Z_]{2,20}) [^\s,;)"'\\[]{1,512}/g, `$1 ${ADDRESS}`],
  [
    /\b((?:connect|read|write|bind|listen|send) E[A-Z_]{2,20}) (?=[^\s]{0,512}[\d.:/])[^\s,;)"'\\[]{1,512}/g,
    `$1 ${ADDRESS}`,
  ],
  [/ ?- Local \([^)]{1,100}\)/g, ''],
  [/\(attempted address(?:es)?: [^)]{1,1000}\)/g, `(${ADDRESS})`],
  [/\b(dial (?:tcp|udp|unix)[46]?|server name|hostname|Host:) "?[^\s,;)"'\\[]{1,512}"?/g, `$1 ${ADDRESS}`],
  [/\blookup [^\s:"'\\[]{1,512}(?: on [^\s"'\\[]{1,512})?:/g, `lookup ${ADDRESS}:`],
];
const ACCOUNTS: readonly (readonly [RegExp, string])[] = [
  [/\b(user(?:name)?s?|serviceaccount)([ =:]{1,3}\\{0,3})"[^"\\\n]{1,512}(\\{0,3})"/gi, `$1$2"${ACCOUNT}$3"`],
  [/\b(groups?[ =:]{1,3})\[[^\]\n]{1,500}\]/gi, `$1${ACCOUNT}`],
  [/\bsystem:[^\s"'`,;)\]}\\]+/g, ACCOUNT],
];
/** Namespaces of tenants on the platform cluster, before a name or alone. */
const TENANT_NAMESPACES = /\b(?:mcp|kcp)--[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(\/(?=[\w]))?/g;
/** Kinds that there are on the platform cluster alone. */
const PLATFORM_KINDS =
  /\b((?:ClusterRequest|AccessRequest|Cluster|ClusterProfile) "?)[a-z0-9][a-z0-9-]{0,62}\/(?=[a-z0-9])/g;
const QUOTED_NAMESPACE = /\b(namespaces?:? \\{0,3}")([^"\\\n]{1,253})(\\{0,3}")/gi;
/** Says nothing of anybody. */
const ANYBODYS_NAMESPACE = 'default';

/** Pure: the text as a tenant may read it. Done twice, it is the same. */
export function conceal(text: string, internal: Internal, words: Words): Concealed {
  let hidden = false;
  const hide = (from: string, to: string): string => {
    hidden ||= from !== to;
    return to;
  };
  const hosts = new Set([...internal.servers.keys()].flatMap((address) => hostOf(address) ?? []));
  const shownHost = (host: string): boolean =>
    words === 'author' && !hosts.has(host.toLowerCase()) && !isInternalHost(host);
  const isNamespace = (name: string): boolean => name !== ANYBODYS_NAMESPACE && internal.namespaces.has(name);

  let result = text.replace(URLS, (match) => {
    const url = withoutPunctuation(match);
    const host = hostOf(url);
    return host !== undefined && shownHost(host) ? match : hide(match, ADDRESS + match.slice(url.length));
  });
  for (const [pattern, shown] of [...CONTEXTS, ...ACCOUNTS]) result = replaceBy(result, pattern, shown, hide);
  result = result
    .replace(words === 'anyone' ? PATHS : KCP_PATHS, (match) => hide(match, ADDRESS))
    .replace(TENANT_NAMESPACES, (match, before?: string) => (before ? '' : hide(match, NAMESPACE)))
    .replace(PLATFORM_KINDS, '$1')
    .replace(QUOTED_NAMESPACE, (match, before: string, name: string, after: string) =>
      isNamespace(name) || (words === 'anyone' && name !== ANYBODYS_NAMESPACE && !internal.own?.has(name))
        ? hide(match, before + NAMESPACE + after)
        : match,
    )
    .replace(BRACKETS, (match, host: string) =>
      isIpv6(host) && !shownHost(`[${host}]`) ? hide(match, ADDRESS) : match,
    )
    .replace(IPV4, (match, range?: string) => {
      const host = match.split(/[:/]/)[0] as string;
      if (!isIpv4(host) || shownHost(host) || (range !== undefined && words === 'author' && !hosts.has(host)))
        return match;
      return hide(match, ADDRESS);
    })
    .replace(RUNS, (match) => {
      const name = match.endsWith('/') ? match.slice(0, -1) : match;
      if (isNamespace(name)) return name === match ? hide(match, NAMESPACE) : '';
      const run = withoutPunctuation(name);
      return isAddress(run, words, hosts) ? hide(match, ADDRESS + match.slice(run.length)) : match;
    });
  return { text: result, hidden };
}

function replaceBy(text: string, pattern: RegExp, shown: string, hide: (from: string, to: string) => string): string {
  const result = text.replace(pattern, shown);
  return result === text ? text : hide(text, result);
}

/** A host, with or without a port, or an IPv6 address. */
function isAddress(run: string, words: Words, hosts: ReadonlySet<string>): boolean {
  const known = (host: string): boolean => hosts.has(host.toLowerCase()) || isInternalHost(host);
  if (isIpv6(run)) return words === 'anyone' || known(`[${run}]`);
  // Those were looked at before, with what is around them.
  const internal = (host: string): boolean => !isIpv4(host) && known(host);
  const [host = '', port, ...more] = run.split(':');
  if (more.length > 0) return run.split(':').some(internal);
  if (internal(host)) return true;
  return words === 'anyone' && port !== undefined && isPort(port) && /^[a-z][\w.-]*$/i.test(host);
}

/** Shorter ones are rather a line, a status or a time. */
function isPort(text: string): boolean {
  const port = Number(text);
  return /^\d{2,5}$/.test(text) && port <= 65_535 && (port >= 1_024 || port === 80 || port === 443);
}

const INTERNAL_HOST =
  /^(?:localhost|.{1,253}\.(?:svc|local|localdomain|internal|intranet|intra|corp|lan|localhost)|.{1,253}\.svc\..{1,253}|.{1,253}\.home\.arpa)$/i;

/** Whether a host, as its looks go, can't be reached from outside of somebody's network. */
export function isInternalHost(host: string): boolean {
  if (isIpv4(host)) {
    const [a = 0, b = 0] = host.split('.').map(Number);
    return (
      [0, 10, 127].includes(a) ||
      (a === 169 && b === 254) ||
      (a === 172 && b >= 16 && b <= 31) ||
      (a === 192 && b === 168) ||
      (a === 100 && b >= 64 && b <= 127)
    );
  }
  const ipv6 = /^\[(.*)\]$/.exec(host)?.[1]?.toLowerCase();
  if (ipv6 !== undefined) return /^(?:::1$|::ffff:|f[cd]|fe[89ab])/.test(ipv6);
  return host.length <= 253 && INTERNAL_HOST.test(host);
}

function isIpv4(text: string): boolean {
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) <= 255);
}

function isIpv6(text: string): boolean {
  const [address = ''] = text.split('%');
  return (
    address.length >= 3 &&
    address.length <= 45 &&
    /:.*:/.test(address) &&
    /^[0-9a-f:.]+$/i.test(address) &&
    // Without one it is rather a word of a programming language.
    /\d/.test(address) &&
    URL.canParse(`http://[${address}]`)
  );
}

/** In lower case, IPv6 in brackets. */
function hostOf(address: string): string | undefined {
  if (!URL.canParse(address)) return undefined;
  return new URL(address).hostname.toLowerCase() || undefined;
}

/** What belongs to the sentence around an address. */
function withoutPunctuation(text: string): string {
  let end = text.length;
  while (end > 0 && '.,;:!?)]}-'.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}
