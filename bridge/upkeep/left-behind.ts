import type { Logger } from 'pino';
import type { KubeClient } from '../../shared/kube/ports.ts';
import { NAMESPACES } from '../../shared/kube/resources.ts';
import { type Mode, type ObjectKey, parseObjectKey } from '../../shared/model/object-key.ts';
import { OBJECT_ANNOTATION, RUNTIME_LABEL } from '../../shared/names.ts';
import type { KnownObjects } from '../objects/followed.ts';
import type { Part } from '../part.ts';
import type { Notice } from '../send/to-events.ts';
import type { Sender } from '../send/sender.ts';
import { LISTED_CHECK_MS } from '../tuning.ts';
import { repeat } from './repeat.ts';

export interface LeftBehindOptions {
  provider: string;
  platform: KubeClient;
  known: KnownObjects;
  /** Objects that have requests. */
  owners: () => Iterable<ObjectKey>;
  /** Whether all requests were listed once. */
  listed: () => boolean;
  sender: Sender;
  everyMs: number;
  log: Logger;
}

/**
 * Finds what belongs to objects that are gone: their finalizer was taken away while nobody watched. Nothing is concluded
 * from it here; the functions look for themselves whether such an object exists.
 */
export function leftBehind({
  provider,
  platform,
  known,
  owners,
  listed,
  sender,
  everyMs,
  log,
}: LeftBehindOptions): Part {
  const stopped = new AbortController();
  let due = 0;
  const compared = new Set<Mode>();
  const look = async (): Promise<void> => {
    const modes = (['standard', 'kcp'] as const).filter((mode) => known.listed(mode));
    // A mode that is listed later than the other is compared at once.
    const isNew = modes.some((mode) => !compared.has(mode));
    if (!listed() || modes.length === 0 || (!isNew && performance.now() < due)) return;
    const claims = modes.includes('kcp') ? await claimsOf(platform, provider) : [];
    const gone = [...claims, ...owners()].filter((key) => modes.includes(key.mode) && !known.knows(key));
    sender.sweep('left behind', gone.map(noticeOf), 'keep');
    due = performance.now() + everyMs;
    for (const mode of modes) compared.add(mode);
  };
  return {
    start: () => void repeat('left behind', LISTED_CHECK_MS, look, { signal: stopped.signal, log }),
    stop: () => stopped.abort(),
  };
}

function noticeOf(key: ObjectKey): Notice {
  return { key, reason: 'ObjectGone', priority: 'background' };
}

/** The objects that hold workspaces. Their namespaces are not watched: there are as many as tenants, and they hardly change. */
async function claimsOf(platform: KubeClient, provider: string): Promise<ObjectKey[]> {
  const { items } = await platform.list(NAMESPACES, {
    labelSelector: `${RUNTIME_LABEL}=${provider}`,
    metadataOnly: true,
  });
  return items.flatMap(({ metadata }) => parseObjectKey(metadata.annotations?.[OBJECT_ANNOTATION] ?? '') ?? []);
}
