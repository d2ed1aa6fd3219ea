import { OBJECT_CHANGED } from '../../shared/events/catalogue.ts';
import { done } from '../../shared/events/outcome.ts';
import type { StepResult } from './run.ts';

/**
 * A function whose turn it is not sends the object back to the start instead of ending silently: a step may have made
 * its own precondition false and died before it sent the next event.
 */
export const backToStart: StepResult = { outcome: done(OBJECT_CHANGED) };
