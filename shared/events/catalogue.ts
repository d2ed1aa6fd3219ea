/** Every event that the runtime sends, and the function that it goes to. */
const PREFIX = 'io.open-control-plane.serviceprovider.';

export const OBJECT_CHANGED = `${PREFIX}object.changed.v1`;
export const INSTALL_REQUESTED = `${PREFIX}install.requested.v1`;
export const DELETE_REQUESTED = `${PREFIX}delete.requested.v1`;
export const TEARDOWN_REQUESTED = `${PREFIX}teardown.requested.v1`;

export type EventType =
  typeof OBJECT_CHANGED | typeof INSTALL_REQUESTED | typeof DELETE_REQUESTED | typeof TEARDOWN_REQUESTED;

export const FUNCTION_NAMES = [
  'resolve-credentials',
  'provider-install',
  'provider-delete',
  'access-teardown',
] as const;
export type FunctionName = (typeof FUNCTION_NAMES)[number];

export const RECEIVER: Readonly<Record<EventType, FunctionName>> = {
  [OBJECT_CHANGED]: 'resolve-credentials',
  [INSTALL_REQUESTED]: 'provider-install',
  [DELETE_REQUESTED]: 'provider-delete',
  [TEARDOWN_REQUESTED]: 'access-teardown',
};

export function isEventType(type: string): type is EventType {
  return Object.hasOwn(RECEIVER, type);
}

/** An event of ours, but of a version that this process does not know: handed back, never dropped. */
export function isUnknownVersion(type: string): boolean {
  return type.startsWith(PREFIX) && !isEventType(type);
}

/** Why an object is looked at; travels as the attribute `reason`, for people only: nothing is decided by it. */
export type Reason =
  | 'Added'
  | 'Changed'
  | 'Deleting'
  | 'AccessChanged'
  | 'ProviderConfigChanged'
  | 'ReferenceChanged'
  | 'WinnerGone'
  | 'BindingChanged'
  | 'FinalizerLost'
  | 'ObjectGone'
  | 'Timer'
  | 'Resync'
  | 'Parked'
  | 'EpochChanged'
  | 'LeaseLost'
  | 'PreconditionFailed'
  | 'UnknownVersion'
  | 'NextStep'
  | 'Published';

/** Why a function's next event is sent: it goes on, or found that it was not its turn. */
export function reasonOfNext(type: EventType): Reason {
  return type === OBJECT_CHANGED ? 'PreconditionFailed' : 'NextStep';
}
