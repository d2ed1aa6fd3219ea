import { hasFinalizer } from '../../shared/finalizers.ts';
import type { KubeObject } from '../../shared/model/kubernetes.ts';
import {
  ADOPTED_ANNOTATION,
  OBJECT_ANNOTATION,
  REGISTRATIONS_ANNOTATION,
  WANTED_UNDER_ANNOTATION,
  REQUEST_FINALIZER,
} from '../../shared/names.ts';
import { isDeleting } from '../../shared/status.ts';
import { REASONS_BEFORE_INSTALL as REASON } from '../step/flow.ts';
import type { DesiredRequest, RememberedRegistrations, RequestIdentity } from './desired.ts';
import type { Verdict } from '../step/verdict.ts';

/** Ownership is managed-by and managed-purpose; a request of that name without them is never taken over. */
export function isOurs(desired: Pick<RequestIdentity, 'ownerLabels'>, request: KubeObject): boolean {
  return Object.entries(desired.ownerLabels).every(([label, value]) => request.metadata.labels?.[label] === value);
}

export function foreignRequest(desired: RequestIdentity, request: KubeObject, kind: string): Verdict | undefined {
  if (isOurs(desired, request)) return undefined;
  const [label, value] = Object.entries(desired.ownerLabels).find(
    ([label, value]) => request.metadata.labels?.[label] !== value,
  ) as [string, string];
  return {
    state: 'refused',
    reason: REASON.foreignRequest,
    message:
      `${kind} ${request.metadata.namespace}/${request.metadata.name} already exists but is not managed by this ` +
      `controller (label ${label} is expected to be ${value}, but is ${request.metadata.labels?.[label] ?? 'not set'})`,
  };
}

export function skeleton(desired: DesiredRequest, annotation: string): KubeObject {
  const { registrations, wantedUnder } = desired;
  return {
    metadata: {
      name: desired.name,
      namespace: desired.namespace,
      labels: { ...desired.extraLabels, ...desired.ownerLabels },
      annotations: {
        [OBJECT_ANNOTATION]: annotation,
        ...(registrations?.fresh ? { [REGISTRATIONS_ANNOTATION]: registrationsText(registrations) } : {}),
        ...(wantedUnder === undefined ? {} : { [WANTED_UNDER_ANNOTATION]: wantedUnder }),
      },
      finalizers: [REQUEST_FINALIZER],
    },
  };
}

/** What is missing on a request that was made by another runtime, or by an earlier incarnation of the object. */
export function metadataPatch(
  desired: DesiredRequest,
  request: KubeObject,
  annotation: string,
): { metadata: Record<string, unknown> } | undefined {
  const metadata: Record<string, unknown> = {};
  const annotations = missingAnnotations(desired, request.metadata.annotations ?? {}, annotation);
  if (Object.keys(annotations).length > 0) metadata['annotations'] = annotations;
  const missing = Object.entries(desired.extraLabels).filter(
    ([name, value]) => request.metadata.labels?.[name] !== value,
  );
  if (missing.length > 0) metadata['labels'] = Object.fromEntries(missing);
  if (!hasFinalizer(request, REQUEST_FINALIZER))
    metadata['finalizers'] = [...(request.metadata.finalizers ?? []), REQUEST_FINALIZER];
  if (Object.keys(metadata).length === 0) return undefined;
  return { metadata: { resourceVersion: request.metadata.resourceVersion, ...metadata } };
}

function missingAnnotations(
  { registrations, wantedUnder }: DesiredRequest,
  found: Readonly<Record<string, string>>,
  annotation: string,
): Record<string, string> {
  const missing: Record<string, string> = {};
  const before = found[OBJECT_ANNOTATION];
  if (before !== annotation) missing[OBJECT_ANNOTATION] = annotation;
  if (!before) missing[ADOPTED_ANNOTATION] = 'true';
  if (wantedUnder !== undefined && found[WANTED_UNDER_ANNOTATION] !== wantedUnder)
    missing[WANTED_UNDER_ANNOTATION] = wantedUnder;
  // Before anything is ordered that nothing else would lead to.
  const { fingerprint = UNKNOWN, hidden } = readRegistrations(found[REGISTRATIONS_ANNOTATION]);
  const known = new Set([...hidden, ...(registrations?.hidden ?? [])]);
  if (known.size > hidden.length)
    missing[REGISTRATIONS_ANNOTATION] = registrationsText({ fingerprint, hidden: [...known] });
  return missing;
}

const UNKNOWN = 'unknown';

/** The value of the annotation that remembers an object's registrations. */
export function registrationsText({ fingerprint, hidden }: RememberedRegistrations): string {
  return [fingerprint, ...hidden].join(' ');
}

/** What {@link registrationsText} has written. */
export function readRegistrations(text: string | undefined): { fingerprint: string | undefined; hidden: string[] } {
  const [fingerprint, ...hidden] = text?.split(' ') ?? [];
  return { fingerprint, hidden };
}

/** Whether it is one of ours that is being deleted, and held by nobody else any more. */
export function endsWithUs(desired: RequestIdentity, request: KubeObject): boolean {
  const { finalizers = [] } = request.metadata;
  return isDeleting(request) && isOurs(desired, request) && finalizers.every((each) => each === REQUEST_FINALIZER);
}

/** Whether we never had a hand in it. */
export function neverOurs({ metadata: { annotations } }: KubeObject): boolean {
  return annotations?.[OBJECT_ANNOTATION] === undefined;
}

/** Whether it was made by another runtime, which may have installed something before it was stopped. */
export function madeByAnother(request: KubeObject): boolean {
  return neverOurs(request) || request.metadata.annotations?.[ADOPTED_ANNOTATION] !== undefined;
}
