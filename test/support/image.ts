import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assembleImage } from '../../deploy/image/assemble.ts';

/** In every pod; what a test puts beside the token is there as well. */
export const ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';
/** Of the image. */
const USER = '65532:65532';
const ENTRYPOINT = [
  '/usr/local/bin/node',
  '--max-semi-space-size=1',
  '--optimize-for-size',
  '/app/deploy/command/main.js',
];
/** Where the reference provider is in the image. */
export const FOO_IN_IMAGE = '/app/functions/providers/foo/provider.js';

/** What a kubelet mounts for a pod: its account, at the address of the API server that runs it. */
export interface PodAccount {
  token: string;
  ca: string;
  /** `https://host:port` */
  server: string;
  namespace: string;
}

export interface ImageProcess {
  command: string;
  args: string[];
  env: Record<string, string>;
}

/** The image's root, assembled once a folder. */
export function imageIn(folder: string): string {
  const root = join(folder, 'image-root');
  if (!existsSync(root)) assembleImage(root);
  return root;
}

/**
 * How a container of the image runs on this machine: in its root, which is read-only but for `/tmp`, as its unprivileged
 * user, with the in-cluster configuration of its pod. The pid is that of the process itself. Where the tests' user is not
 * root, the image's user is the tests' own.
 */
export function inImage(
  root: string,
  args: readonly string[],
  env: Record<string, string>,
  account: PodAccount,
  podFolder: string,
): ImageProcess {
  mkdirSync(podFolder, { recursive: true });
  writeFileSync(join(podFolder, 'token'), account.token);
  writeFileSync(join(podFolder, 'ca.crt'), account.ca);
  writeFileSync(join(podFolder, 'namespace'), account.namespace);
  const { hostname, port } = new URL(account.server);
  const privileged = process.getuid?.() === 0;
  const script = [
    `mount --bind "$1" "$1"`,
    `mount --bind "$2" "$1${ACCOUNT_FOLDER}"`,
    `mount -t tmpfs tmpfs "$1/tmp"`,
    `mount -o remount,ro,bind "$1"`,
    `root="$1"`,
    'shift 2',
    `exec chroot ${privileged ? `--userspec=${USER} ` : ''}"$root" "$@"`,
  ].join(' && ');
  return {
    command: 'unshare',
    args: [...(privileged ? [] : ['-r']), '-m', 'sh', '-c', script, 'sh', root, podFolder, ...ENTRYPOINT, ...args],
    env: {
      PATH: process.env['PATH'] ?? '',
      MALLOC_ARENA_MAX: '1',
      KUBERNETES_SERVICE_HOST: hostname,
      KUBERNETES_SERVICE_PORT: port,
      ...env,
    },
  };
}

/** Runs something in the image to its end, such as `--help`, or another program of it. */
export function runInImage(root: string, program: readonly string[]): { code: number | null; output: string } {
  const script =
    'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec chroot --userspec=65532:65532 "$0" "$@"';
  const { status, stdout, stderr } = spawnSync('unshare', ['-m', 'sh', '-c', script, root, ...program], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] },
  });
  return { code: status, output: stdout + stderr };
}
