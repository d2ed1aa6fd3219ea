import { z } from 'zod';
import { providerConfig } from '../../../shared/provider/provider-config.ts';
import { serviceApi } from '../../../shared/provider/service-api.ts';
import { defineProvider } from '../../../shared/provider/define.ts';
import type { Provider } from '../../../shared/provider/provider.ts';
import type { PermissionClaim } from '../../../shared/model/access.ts';

export const EXPORT = 'size.example.org';
const SIZES = z.enum(['small', 'large']);
export const SPEC = z.object({ size: SIZES.default('small'), nodes: z.int32().min(1).optional() });

interface Variant {
  spec?: z.ZodObject;
  claims?: PermissionClaim[];
  plural?: string;
}

/** A provider of the type Size, in the version at hand. */
export function sizes({ spec = SPEC, claims = [], plural = 'sizes' }: Variant = {}): Provider {
  const names = { group: EXPORT, version: 'v1' };
  return defineProvider({
    name: 'sizes',
    api: serviceApi({ ...names, kind: 'Size', plural, spec, status: z.object({ url: z.string() }) }),
    config: providerConfig({ ...names, spec: z.object({}), kcp: true }),
    workloadCluster: true,
    access: { mcp: {} },
    kcp: { permissionClaims: claims },
    createOrUpdate: () => Promise.resolve(),
    delete: () => Promise.resolve(),
  });
}
