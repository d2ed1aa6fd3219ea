import { registrationsFingerprint } from '../../shared/provider/registrations-fingerprint.ts';
import type { Run } from '../step/run.ts';

/**
 * Whether what this process does not register is withdrawn. One process may be older or newer than another; what is in force
 * is what the bridge that leads registers, and without a word of it there is nobody else.
 */
export function registersWhatIsInForce({ inForce, provider, key }: Pick<Run, 'inForce' | 'provider' | 'key'>): boolean {
  return inForce === undefined || inForce === registrationsFingerprint(provider, key.mode);
}
