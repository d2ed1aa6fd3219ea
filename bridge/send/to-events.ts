import { OBJECT_CHANGED, type Reason } from '../../shared/events/catalogue.ts';
import { type ServiceEvent, serviceEvent } from '../../shared/events/service-event.ts';
import type { ObjectKey } from '../../shared/model/object-key.ts';
import type { Priority } from '../../shared/queue/publisher.ts';

/** That an object has to be looked at; all that the bridge ever has to say. */
export interface Notice {
  readonly key: ObjectKey;
  readonly reason: Reason;
  readonly priority: Priority;
  /** As last seen; for people and traces. */
  readonly generation?: number | undefined;
}

/** Step 5, pure: the event of a notice. */
export function toEvent(notice: Notice): ServiceEvent {
  return serviceEvent(OBJECT_CHANGED, notice.key, { reason: notice.reason, generation: notice.generation });
}

/** `object.changed` of `io.open-control-plane.serviceprovider.object.changed.v1`: how people see a type in logs. */
export function shortType(type: string): string {
  return type.split('.').slice(-3, -1).join('.');
}
