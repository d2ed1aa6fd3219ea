import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import foo from '../../functions/providers/foo/provider.ts';
import { formatKubeconfig } from '../../shared/kube/kubeconfig.ts';
import { objectPath } from '../../shared/kube/paths.ts';
import { CRDS, NAMESPACES, SERVICE_PROVIDERS } from '../../shared/kube/resources.ts';
import { agentFor, failureOf, send } from '../../shared/kube/transport.ts';
import type { KubeObject, ResourceType } from '../../shared/model/kubernetes.ts';
import { type KubeApiserver, startKubeApiserver } from '../control-planes/kube-apiserver.ts';
import { issueToken } from '../support/cluster-provider/access.ts';
import { installCrds, openmcpCrds } from '../support/crds.ts';
import { runCommand } from '../support/run-command.ts';

/** Each file of `deploy/` by itself, whatever overlays make of them: what a server and the command line say of it. */

const DEPLOY = join(import.meta.dirname, '..', '..', 'deploy');
const NAMESPACE = 'foo-system';
const CLUSTER_SCOPED = new Set(['ClusterRole', 'ClusterRoleBinding', 'ServiceProvider']);

/** CRDs of others, in the Go modules that hold them. */
const FOREIGN = [
  ['knative.dev/serving@v0.48.0', 'config/core/300-resources/service.yaml'],
  ['github.com/kedacore/keda/v2@v2.19.0', 'config/crd/bases/keda.sh_scaledobjects.yaml'],
  ['github.com/kedacore/keda/v2@v2.19.0', 'config/crd/bases/keda.sh_triggerauthentications.yaml'],
] as const;

interface Container {
  args: string[];
  image: string;
  securityContext?: Record<string, unknown>;
  resources?: { requests?: object; limits?: object };
}

interface PodSpec {
  securityContext?: Record<string, unknown>;
  serviceAccountName?: string;
  containers: Container[];
}

type Manifest = KubeObject & {
  apiVersion: string;
  kind: string;
  spec?: { template?: { spec: PodSpec } };
  rules?: { resources?: string[]; verbs: string[] }[];
  roleRef?: { kind: string; name: string };
  subjects?: { kind: string; name: string; namespace?: string }[];
};

function documents(file: string): Manifest[] {
  return parseAllDocuments(readFileSync(file, 'utf8'))
    .map((document) => document.toJS() as Manifest | null)
    .filter((each) => each !== null);
}

const files = readdirSync(DEPLOY, { recursive: true, withFileTypes: true })
  .map(({ parentPath, name }) => join(parentPath, name))
  .filter((file) => file.endsWith('.yaml') && !file.endsWith('kustomization.yaml') && !file.includes('/image/'));
const manifests = files.flatMap((file) =>
  documents(file).map((manifest): [string, Manifest] => {
    return [`${relative(DEPLOY, file)}: ${manifest.kind} ${manifest.metadata.name}`, manifest];
  }),
);
const pods = manifests.flatMap(([name, { spec }]) =>
  spec?.template ? [[name, spec.template.spec] as [string, PodSpec]] : [],
);

let server: KubeApiserver;

beforeAll(async () => {
  server = await startKubeApiserver({ dir: join(inject('runFolder'), 'manifests') });
  const foreign = FOREIGN.flatMap(([module, file]) => {
    const answer = execFileSync('go', ['mod', 'download', '-json', module], { encoding: 'utf8' });
    return documents(join((JSON.parse(answer) as { Dir: string }).Dir, file));
  });
  await Promise.all([
    installCrds(server.admin, [...foreign, ...openmcpCrds('openmcp.cloud_serviceproviders')]),
    server.admin.apply(NAMESPACES, { metadata: { name: NAMESPACE } }),
  ]);
});

afterAll(() => server?.stop());

function typeOf({ apiVersion, kind }: Manifest): ResourceType {
  const [group, version] = apiVersion.includes('/') ? (apiVersion.split('/') as [string, string]) : ['', apiVersion];
  const plural = `${kind.toLowerCase()}s`.replace(/ys$/, 'ies');
  return { group, version, kind, plural, namespaced: !CLUSTER_SCOPED.has(kind) };
}

/** Server-side apply that stores nothing and refuses fields that do not exist. */
async function dryRun(manifest: Manifest): Promise<void> {
  const { kind, metadata } = manifest;
  const namespace = CLUSTER_SCOPED.has(kind) ? undefined : NAMESPACE;
  const subjects = manifest.subjects?.map((each) =>
    each.kind === 'ServiceAccount' ? { ...each, namespace: NAMESPACE } : each,
  );
  const { ca, token } = server.adminCredentials;
  const dispatcher = agentFor({ ca, cert: undefined, key: undefined });
  const request = {
    method: 'PATCH',
    server: server.server,
    path: objectPath(typeOf(manifest), metadata.name, namespace),
    signal: AbortSignal.timeout(30_000),
    body: {
      ...manifest,
      metadata: { ...metadata, ...(namespace ? { namespace } : {}) },
      ...(subjects ? { subjects } : {}),
    },
    contentType: 'application/apply-patch+yaml',
    query: { dryRun: 'All', fieldManager: 'test', fieldValidation: 'Strict' },
  } as const;
  const response = await send(() => ({ dispatcher, authorization: () => Promise.resolve(`Bearer ${token}`) }), request);
  try {
    if (response.statusCode !== 200 && response.statusCode !== 201) throw await failureOf(request, response);
    await response.body.dump();
  } finally {
    await dispatcher.close();
  }
}

describe('an API server', () => {
  test.each(manifests)('accepts %s', (_name, manifest) => expect(dryRun(manifest)).resolves.toBeUndefined());

  test('refuses a field that does not exist', async () => {
    const [, some] = manifests.find(([, { kind }]) => kind === 'ScaledObject') as [string, Manifest];
    const wrong = { ...some, spec: { ...some.spec, cooldown: 1 } } as Manifest;
    await expect(dryRun(wrong)).rejects.toThrow(/cooldown/);
  });
});

describe('every pod', () => {
  test('is there', () => expect(pods.length).toBeGreaterThan(10));

  test.each(pods)('is hardened: %s', (_name, { securityContext: ofPod = {}, containers }) => {
    for (const { securityContext, resources } of containers) {
      expect({ ...ofPod, ...securityContext }).toMatchObject({
        runAsNonRoot: true,
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(resources).toMatchObject({ requests: { memory: expect.any(String) as string }, limits: {} });
    }
  });

  test.each(pods)('runs a command that exists, with flags that it takes: %s', (_name, { containers }) => {
    for (const { args } of containers) {
      const [command = '', ...rest] = args;
      const known = flagsOf(command);
      const given = rest.filter((each) => each.startsWith('--')).map((each) => each.split('=')[0] ?? '');
      expect(given.filter((flag) => !known.includes(flag))).toEqual([]);
    }
  });

  test.each(pods)('runs as a ServiceAccount that exists: %s', (_name, { serviceAccountName }) => {
    const accounts = manifests.filter(([, { kind }]) => kind === 'ServiceAccount');
    expect(accounts.map(([, { metadata }]) => metadata.name)).toContain(serviceAccountName);
  });
});

const helps = new Map<string, string[]>();

/** As the command itself says them. */
function flagsOf(command: string): string[] {
  let flags = helps.get(command);
  if (!flags) {
    const main = join(DEPLOY, 'command', 'main.ts');
    const help = execFileSync(process.execPath, [main, command, '--help'], { encoding: 'utf8' });
    if (!help.startsWith(`Usage: service-provider ${command} `)) throw new Error(`there is no command ${command}`);
    flags = [...help.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, flag]) => flag ?? '');
    helps.set(command, flags);
  }
  return flags;
}

describe('rights', () => {
  const roles = manifests.filter(([, { rules }]) => rules);
  const named = (kind: string, name: string): Manifest | undefined =>
    manifests.find(([, each]) => each.kind === kind && each.metadata.name === name)?.[1];

  test.each(roles)('are named one by one: %s', (_name, { rules = [] }) => {
    for (const { resources = [], verbs } of rules) {
      // kcp knows no finer right than the first, and lets in what tenants have accepted; of the second, in the provider
      // workspace, tenants are given all but its status, and nobody can give away what he does not have.
      if (!['apiexports/content', foo.api.type.plural].includes(resources.join(','))) expect(verbs).not.toContain('*');
      expect(resources).not.toContain('*');
    }
  });

  test('are bound to accounts and from roles that exist', () => {
    for (const [name, { roleRef, subjects = [] }] of manifests.filter(([, each]) => each.roleRef)) {
      expect(roleRef && named(roleRef.kind, roleRef.name), name).toBeDefined();
      for (const subject of subjects.filter(({ kind }) => kind === 'ServiceAccount'))
        expect(named('ServiceAccount', subject.name), `${name}: ${subject.name}`).toBeDefined();
    }
  });

  const secured = pods.filter(([, { containers }]) =>
    containers.some(
      ({ args }) => args.includes('--metrics-bind-address=:8443') && !args.includes('--metrics-secure=false'),
    ),
  );

  test.each(secured)('let it check who may read its metrics: %s', (_name, { serviceAccountName }) => {
    const bound = manifests
      .filter(([, { subjects = [] }]) => subjects.some(({ name }) => name === serviceAccountName))
      .flatMap(([, { roleRef }]) => (roleRef && named(roleRef.kind, roleRef.name)?.rules) ?? []);
    const resources = bound.filter(({ verbs }) => verbs.includes('create')).flatMap((rule) => rule.resources ?? []);
    expect(resources).toEqual(expect.arrayContaining(['tokenreviews', 'subjectaccessreviews']));
  });

  test('name the group of the provider', () => {
    const groups = JSON.stringify(roles.map(([, { rules }]) => rules));
    expect(groups).toContain(`"${foo.config.type.group}"`);
  });
});

describe('init, with the rights of its own ServiceAccount', () => {
  test('installs the type of the ProviderConfig and registers the kind', async () => {
    for (const [, manifest] of manifests.filter(([name]) => name.startsWith('base/rbac-init'))) {
      const [namespace, subjects] = [NAMESPACE, manifest.subjects?.map((each) => ({ ...each, namespace: NAMESPACE }))];
      const inNamespace = CLUSTER_SCOPED.has(manifest.kind) ? {} : { namespace };
      const metadata = { ...manifest.metadata, ...inNamespace };
      await server.admin.apply(typeOf(manifest), { ...manifest, metadata, ...(subjects ? { subjects } : {}) });
    }
    await server.admin.create(SERVICE_PROVIDERS, {
      metadata: { name: 'foo' },
      spec: { image: 'example.org/foo:v1' },
    } as KubeObject);
    const { token } = await issueToken(server.admin, NAMESPACE, 'foo-init', 3_600);
    const { ca, server: address } = server.adminCredentials;
    const kubeconfig = join(inject('runFolder'), 'manifests', 'init.kubeconfig');
    writeFileSync(kubeconfig, formatKubeconfig({ server: address, ca, token }), { mode: 0o600 });
    const env = { KUBECONFIG: kubeconfig, ONBOARDING_KUBECONFIG: server.kubeconfigPath, POD_NAMESPACE: NAMESPACE };
    expect(await runCommand(['init', '--provider-name', 'foo'], env)).toMatchObject({ code: 0, stderr: '' });
    expect(await server.admin.get(SERVICE_PROVIDERS, 'foo')).toMatchObject({
      status: { resources: [{ kind: foo.api.type.kind }] },
    });
    const { type } = foo.config;
    expect(await server.admin.get(CRDS, `${type.plural}.${type.group}`)).toBeDefined();
    // Again, as after each upgrade.
    expect(await runCommand(['init', '--provider-name', 'foo'], env)).toMatchObject({ code: 0 });
  });
});
