import { describe, expect, test } from 'vitest';
import {
  desiredMcpRequest,
  desiredWorkloadRequest,
  identityOf,
  tenantNamespace,
} from '../../../../functions/requests/desired.ts';
import { defineProvider } from '../../../../shared/provider/define.ts';
import { mcpNamespace, workspaceNamespace } from '../../../../shared/names.ts';
import { kcpKey, provider, providerOptions, standardKey } from '../objects.ts';

describe('where a tenant is on the platform cluster', () => {
  test('the namespace of a ControlPlane is that of the platform, for every provider the same', () => {
    expect(tenantNamespace(standardKey)).toBe(mcpNamespace('shop', 'project-a'));
    expect(tenantNamespace({ ...standardKey, provider: 'other' })).toBe(tenantNamespace(standardKey));
  });

  test('that of a workspace is one for each provider, whatever the object is called', () => {
    expect(tenantNamespace(kcpKey)).toBe(workspaceNamespace('db', '2hj3kx'));
    expect(tenantNamespace({ ...kcpKey, name: 'second' })).toBe(tenantNamespace(kcpKey));
    expect(tenantNamespace({ ...kcpKey, provider: 'other' })).not.toBe(tenantNamespace(kcpKey));
  });

  test('the identity is stable for a tenant', () => {
    expect(identityOf(standardKey)).toBe('project-a/shop');
    expect(identityOf({ ...kcpKey, name: 'second', uid: 'uid-2' })).toBe('2hj3kx');
  });
});

describe('the requests of an object', () => {
  const access = { token: { roleRefs: [{ kind: 'ClusterRole', name: 'view' } as const] } };

  test('access to the control plane refers to the ClusterRequest of the platform', () => {
    expect(desiredMcpRequest(standardKey, provider, access)).toMatchObject({
      id: 'mcp',
      name: 'db--shop--mcp',
      access,
      cluster: { kind: 'request', reference: { name: 'shop', namespace: mcpNamespace('shop', 'project-a') } },
    });
  });

  test('in a workspace the onboarding labels have no meaning, and are not set', () => {
    const desired = desiredWorkloadRequest(kcpKey, provider, access);
    expect(desired.namespace).toBe(workspaceNamespace('db', '2hj3kx'));
    expect(desired.extraLabels).toEqual({});
    expect(desired.cluster).toEqual({ kind: 'order', spec: { purpose: 'workload' } });
  });

  test("an existing provider's own controller name is in names and labels", () => {
    const flux = defineProvider({ ...providerOptions, name: 'flux', controllerName: 'Flux' });
    const desired = desiredWorkloadRequest(standardKey, flux, access);
    expect(desired.name).toBe('flux--shop--wl');
    expect(desired.ownerLabels).toEqual({
      'openmcp.cloud/managed-by': 'Flux',
      'openmcp.cloud/managed-purpose': 'project-a.shop.workload',
    });
  });

  test('an object with a name longer than a label may be gets labels that the API server takes', () => {
    const { ownerLabels, extraLabels, name } = desiredMcpRequest({ ...standardKey, name: 'n'.repeat(200) }, provider, {
      token: {},
    });
    for (const value of [...Object.values(ownerLabels), ...Object.values(extraLabels), name])
      expect(value).toMatch(/^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/);
  });
});
