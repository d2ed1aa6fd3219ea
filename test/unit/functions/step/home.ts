import { pino } from 'pino';
import type { Run, Step } from '../../../../functions/step/run.ts';
import { ApiError } from '../../../../shared/kube/api-error.ts';
import type { HttpKubeClient } from '../../../../shared/kube/client.ts';
import type { ServiceObject } from '../../../../shared/model/kubernetes.ts';
import { provider, serviceObject, standardKey } from '../objects.ts';

export const answer = (status: number, reason: string, details?: { name: string }): ApiError =>
  new ApiError('GET x', status, { reason, message: reason, ...(details ? { details } : {}) });
export const conflict = (): ApiError => answer(409, 'Conflict');

/** A cluster with one object. Each entry of `refusals` is thrown at the patch of that number. */
export class Home {
  object: ServiceObject | undefined;
  readonly patches: { patch: Record<string, unknown>; subresource: string | undefined }[] = [];
  readonly refusals: (ApiError | undefined)[] = [];
  onPatch: () => void = () => undefined;
  readFailure: ApiError | undefined;

  constructor(object: ServiceObject | undefined = serviceObject()) {
    this.object = object;
  }

  async get(): Promise<ServiceObject | undefined> {
    if (this.readFailure) throw this.readFailure;
    return structuredClone(this.object);
  }

  async mergePatch(
    _type: unknown,
    _name: string,
    patch: object,
    options?: { subresource?: string },
  ): Promise<ServiceObject> {
    this.onPatch();
    const refusal = this.refusals.shift();
    if (refusal) throw refusal;
    const { status } = patch as Pick<ServiceObject, 'status'>;
    this.patches.push({ patch: patch as Record<string, unknown>, subresource: options?.subresource });
    const object = this.object as ServiceObject;
    this.object = { ...object, ...(status ? { status: { ...object.status, ...status } } : {}) };
    return structuredClone(this.object);
  }

  get ready() {
    return this.object?.status?.conditions?.find(({ type }) => type === 'Ready');
  }
}

export function runWith(home: Home, more: Partial<Run> = {}): Run {
  return {
    key: standardKey,
    provider,
    home: home as unknown as HttpKubeClient,
    marks: { read: () => Promise.resolve(undefined), write: () => Promise.resolve(undefined) },
    config: { state: 'ok', config: {}, runtime: { pollIntervalMs: undefined, kcp: undefined } },
    signal: new AbortController().signal,
    secrets: new Set(['known-secret']),
    internal: { servers: new Map(), namespaces: new Set() },
    log: pino({ level: 'silent' }),
    now: () => new Date('2026-05-05T05:05:05Z'),
    ...more,
  } as Run;
}

export const throws =
  (error: Error): Step =>
  () =>
    Promise.reject(error);
