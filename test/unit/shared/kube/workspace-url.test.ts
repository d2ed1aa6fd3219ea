import { describe, expect, test } from 'vitest';
import { kcpBaseUrl, workspaceUrl } from '../../../../shared/kube/workspace-url.ts';

const ENDPOINT = 'https://kcp:6443/services/apiexport/2abc/db.example.org';

describe('addresses in kcp', () => {
  test.each([
    ['https://kcp:6443', 'https://kcp:6443'],
    ['https://kcp:6443/', 'https://kcp:6443'],
    ['https://kcp:6443/clusters/root:org', 'https://kcp:6443'],
    ['https://kcp:6443/clusters/root:org/', 'https://kcp:6443'],
    ['https://proxy/kcp/clusters/*', 'https://proxy/kcp'],
    [ENDPOINT, ENDPOINT],
    ['https://kcp/clusters/a/api', 'https://kcp/clusters/a/api'],
  ])('%s has the base %s', (server, base) => {
    expect(kcpBaseUrl(server)).toBe(base);
  });

  test.each([
    ['https://kcp:6443', 'root:org', 'https://kcp:6443/clusters/root:org'],
    ['https://kcp:6443/clusters/root', 'root:org', 'https://kcp:6443/clusters/root:org'],
    [ENDPOINT, '*', `${ENDPOINT}/clusters/*`],
    [`${ENDPOINT}/`, '2hj3kx', `${ENDPOINT}/clusters/2hj3kx`],
  ])('the workspace of %s named %s', (server, workspace, url) => {
    expect(workspaceUrl(server, workspace)).toBe(url);
  });
});
