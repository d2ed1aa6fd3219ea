/** Pure: what is in the image. */

interface Lockfile {
  packages: Readonly<Record<string, { dev?: boolean; link?: boolean }>>;
}

/** Paths of the packages that run, those of development left out. */
export function productionPackages({ packages }: Lockfile): string[] {
  const paths = Object.entries(packages).flatMap(([path, { dev, link }]) => (path === '' || dev || link ? [] : [path]));
  // A package in another's folder comes with that.
  return paths.filter((path) => !paths.some((other) => path.startsWith(`${other}/node_modules/`)));
}

const LEFT_OUT = /\.(d\.[cm]?ts|[cm]?ts|map|md|markdown|flow|ya?ml)$/i;

/** Whether a file or folder of a package is of any use at run time. */
export function isShipped(name: string): boolean {
  return !LEFT_OUT.test(name) || /^licen[cs]e/i.test(name);
}

/** The manifest for code that is compiled to JavaScript. */
export function packagedAs(manifest: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { name, version, license, type, exports, bin, serviceProvider, dependencies } = JSON.parse(
    JSON.stringify(manifest).replaceAll(/(\.\/[\w./-]+)\.ts"/g, '$1.js"'),
  ) as Record<string, unknown>;
  return { name, version, private: true, license, type, exports, bin, serviceProvider, dependencies };
}
