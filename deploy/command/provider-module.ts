import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { messageOf, RuntimeError } from '../../shared/errors.ts';
import { type Provider, renamed } from '../../shared/provider/provider.ts';

/**
 * Loads the provider: `--provider`, else `SERVICE_PROVIDER_MODULE`, else the field `serviceProvider` of the
 * `package.json` in the working directory. The module's default export is what `defineProvider` returned.
 * @param setting what gave the path, where there is one
 * @throws RuntimeError `INVALID_SETTINGS` naming what is missing and the remedy
 */
export async function loadProvider(
  path: string | undefined,
  setting: string,
  name: string | undefined,
  directory: string = process.cwd(),
): Promise<Provider> {
  const found = path ?? fromPackage(directory);
  if (!found)
    throw new RuntimeError(
      'INVALID_SETTINGS',
      'no provider: give --provider <module>, set SERVICE_PROVIDER_MODULE, or "serviceProvider" in package.json',
    );
  const file = resolve(directory, found);
  const by = `${path === undefined ? 'serviceProvider in package.json' : setting}: ${found}`;
  if (!existsSync(file)) throw new RuntimeError('INVALID_SETTINGS', `${by}: there is no such file`);
  let module: { default?: unknown };
  try {
    module = (await import(pathToFileURL(file).href)) as { default?: unknown };
  } catch (error) {
    throw new RuntimeError('INVALID_SETTINGS', `${by}: ${messageOf(error)}`, { cause: error });
  }
  const provider = module.default;
  if (!isProvider(provider))
    throw new RuntimeError('INVALID_SETTINGS', `${by}: its default export is not made by defineProvider`);
  return name === undefined ? provider : renamed(provider, name);
}

function fromPackage(directory: string): string | undefined {
  const file = resolve(directory, 'package.json');
  if (!existsSync(file)) return undefined;
  let content: Record<string, unknown>;
  try {
    content = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  } catch (error) {
    throw new RuntimeError('INVALID_SETTINGS', `${file}: ${messageOf(error)}`, { cause: error });
  }
  const field = content['serviceProvider'];
  return typeof field === 'string' ? field : undefined;
}

function isProvider(value: unknown): value is Provider {
  const provider = value as Partial<Provider> | undefined;
  return typeof provider?.createOrUpdate === 'function' && typeof provider.delete === 'function' && !!provider.api;
}
