import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Has an API server write down who asks for what, a line of JSON for each request. */
export interface Audit {
  readonly log: string;
  /** Flags of the server. */
  readonly args: readonly string[];
}

/** No bodies, and a request once: when it was answered, and a watch when its answer began. */
const POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [{ level: 'Metadata' }],
};

export function auditIn(dir: string): Audit {
  mkdirSync(dir, { recursive: true });
  const policy = join(dir, 'audit-policy.json');
  writeFileSync(policy, JSON.stringify(POLICY));
  const log = join(dir, 'audit.jsonl');
  return { log, args: [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`] };
}
