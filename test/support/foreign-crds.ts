import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { documentsIn, type Manifest } from './manifests.ts';

const KEDA = 'github.com/kedacore/keda/v2@v2.19.0';

/** CRDs of others that our manifests use, as their Go modules hold them. */
const MODULES = [
  { module: 'knative.dev/serving@v0.48.0', files: ['config/core/300-resources/service.yaml'] },
  {
    module: KEDA,
    files: ['config/crd/bases/keda.sh_scaledobjects.yaml', 'config/crd/bases/keda.sh_triggerauthentications.yaml'],
  },
];

/** Fetches the modules into Go's cache, where they are not there yet. */
export function foreignCrds(): Manifest[] {
  return MODULES.flatMap(({ module, files }) => {
    const folder = moduleFolder(module);
    return files.flatMap((file) => documentsIn(join(folder, file)).filter((each) => each !== null));
  });
}

/** All that KEDA's operator works with. */
export function kedaCrds(): Manifest[] {
  const folder = join(moduleFolder(KEDA), 'config/crd/bases');
  return readdirSync(folder).flatMap((file) => documentsIn(join(folder, file)).filter((each) => each !== null));
}

function moduleFolder(module: string): string {
  const answer = execFileSync('go', ['mod', 'download', '-json', module], { encoding: 'utf8' });
  return (JSON.parse(answer) as { Dir: string }).Dir;
}
