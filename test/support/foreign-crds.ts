import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { documentsIn, type Manifest } from './manifests.ts';

/** CRDs of others that our manifests use, as their Go modules hold them. */
const MODULES = [
  { module: 'knative.dev/serving@v0.48.0', files: ['config/core/300-resources/service.yaml'] },
  {
    module: 'github.com/kedacore/keda/v2@v2.19.0',
    files: ['config/crd/bases/keda.sh_scaledobjects.yaml', 'config/crd/bases/keda.sh_triggerauthentications.yaml'],
  },
];

/** Fetches the modules into Go's cache, where they are not there yet. */
export function foreignCrds(): Manifest[] {
  return MODULES.flatMap(({ module, files }) => {
    const answer = execFileSync('go', ['mod', 'download', '-json', module], { encoding: 'utf8' });
    const { Dir } = JSON.parse(answer) as { Dir: string };
    return files.flatMap((file) => documentsIn(join(Dir, file)).filter((each) => each !== null));
  });
}
