#!/usr/bin/env node
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { isShipped, packagedAs, productionPackages } from './decide-contents.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const PARTS = ['bridge', 'deploy/command', 'functions', 'shared'] as const;
/** Nobody else's: as distroless images have it. */
const USER = 65_532;

/**
 * Assembles the root of the image in a folder: Node and the libraries that it needs, our code as JavaScript, the packages
 * that it needs, an unprivileged user. `node deploy/image/assemble.ts <folder>`; the Dockerfile copies that folder and
 * nothing else. Linux only, since it takes Node as it runs here.
 */
export function assembleImage(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  for (const each of ['app', 'etc', 'tmp', 'usr/local/bin', 'var/run/secrets/kubernetes.io/serviceaccount'])
    mkdirSync(join(folder, each), { recursive: true });
  addNode(folder);
  addCode(join(folder, 'app'));
  addPackages(join(folder, 'app'));
  const etc = join(folder, 'etc');
  writeFileSync(join(etc, 'passwd'), `root:x:0:0::/:/\nservice-provider:x:${USER}:${USER}::/:/\n`);
  writeFileSync(join(etc, 'group'), `root:x:0:\nservice-provider:x:${USER}:\n`);
  chmodSync(join(folder, 'tmp'), 0o1777);
}

function addNode(folder: string): void {
  const node = join(folder, 'usr/local/bin/node');
  copyFileSync(process.execPath, node);
  const libraries = execFileSync('ldd', [process.execPath], { encoding: 'utf8' }).matchAll(/(\/\S+) \(0x/g);
  for (const [, library = ''] of libraries) {
    const to = join(folder, library);
    mkdirSync(dirname(to), { recursive: true });
    copyFileSync(library, to);
  }
}

function addCode(app: string): void {
  const project = join(app, 'tsconfig.json');
  const include = PARTS.map((part) => join(ROOT, part));
  const typeRoots = [join(ROOT, 'node_modules/@types')];
  const emit = { noEmit: false, outDir: app, rootDir: ROOT, rewriteRelativeImportExtensions: true };
  const compilerOptions = { ...emit, typeRoots };
  writeFileSync(project, JSON.stringify({ extends: join(ROOT, 'tsconfig.json'), compilerOptions, include }));
  try {
    execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', project], { encoding: 'utf8', stdio: 'pipe' });
  } finally {
    rmSync(project);
  }
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<string, unknown>;
  writeFileSync(join(app, 'package.json'), `${JSON.stringify(packagedAs(manifest), undefined, 2)}\n`);
}

function addPackages(app: string): void {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Parameters<
    typeof productionPackages
  >[0];
  for (const path of productionPackages(lock)) {
    const from = join(ROOT, path);
    // What is optional for another system is not installed on this one.
    if (existsSync(from))
      cpSync(from, join(app, path), {
        recursive: true,
        dereference: true,
        filter: (file) => isShipped(basename(file)),
      });
  }
}

if (process.argv[1] && resolve(process.argv[1]) === import.meta.filename) {
  const [, , folder] = process.argv;
  if (!folder) throw new Error('usage: node deploy/image/assemble.ts <folder>');
  assembleImage(resolve(folder));
  process.stdout.write(`${folder}: the root of the image\n`);
}
