import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** `KCP_BINARY` for `kcp`, `KUBE_APISERVER_BINARY` for `kube-apiserver`. */
export function environmentVariable(name: string): string {
  return `${name.toUpperCase().replaceAll('-', '_')}_BINARY`;
}

/**
 * An executable that whoever runs us provides, by its variable or in `PATH`.
 * @throws Error where the variable names something that can't be executed: falling back would hide the mistake
 */
export function binaryFromEnvironment(name: string): string | undefined {
  const variable = environmentVariable(name);
  const given = process.env[variable];
  if (given) {
    if (!isExecutable(given)) throw new Error(`${variable}=${given} is not an executable file`);
    return given;
  }
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
