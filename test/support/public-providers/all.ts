import { externalSecrets } from './external-secrets.ts';
import { flux } from './flux.ts';
import { landscaper } from './landscaper.ts';
import { plain } from './plain.ts';
import { velero } from './velero.ts';
import type { PublicProvider } from './public-provider.ts';

export const PUBLIC_PROVIDERS: readonly PublicProvider[] = [flux, velero, externalSecrets, landscaper, plain];
