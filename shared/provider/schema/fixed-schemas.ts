import type { JsonSchema } from './structural.ts';

/** Parts of the schemas that are the same for every provider. Tooling and the Go runtime read these fields. */

export const TYPE_META: Readonly<Record<string, JsonSchema>> = {
  apiVersion: { type: 'string', description: 'Version of the schema of this object, <group>/<version>.' },
  kind: { type: 'string', description: 'The REST resource that this object represents, in CamelCase.' },
  metadata: { type: 'object' },
};

/** `metav1.Condition` as controller-gen writes it. */
const CONDITION: JsonSchema = {
  type: 'object',
  properties: {
    lastTransitionTime: { type: 'string', format: 'date-time', description: 'When status changed last.' },
    message: { type: 'string', maxLength: 32768, description: 'Details for people; may be empty.' },
    observedGeneration: {
      type: 'integer',
      format: 'int64',
      minimum: 0,
      description: 'metadata.generation that this condition is about.',
    },
    reason: {
      type: 'string',
      minLength: 1,
      maxLength: 1024,
      pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
      description: 'A CamelCase word for programs.',
    },
    status: { type: 'string', enum: ['True', 'False', 'Unknown'], description: 'One of True, False, Unknown.' },
    type: {
      type: 'string',
      maxLength: 316,
      pattern:
        '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$',
      description: 'What this condition is about, in CamelCase.',
    },
  },
  required: ['lastTransitionTime', 'message', 'reason', 'status', 'type'],
};

export const CONDITIONS: JsonSchema = {
  type: 'array',
  items: CONDITION,
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
  description: 'What is known about the state, one entry a type.',
};

/** The phases of a managed resource, as the provider developers' guide has them. */
export const RESOURCE_PHASES = ['Pending', 'Progressing', 'Ready', 'Failed', 'Terminating', 'Unknown'] as const;
export type ResourcePhase = (typeof RESOURCE_PHASES)[number];

const RESOURCES: JsonSchema = {
  type: 'array',
  description: 'Objects that were installed for this one.',
  items: {
    type: 'object',
    properties: {
      apiGroup: { type: 'string', description: 'Group of the object; empty for the core group.' },
      kind: { type: 'string' },
      name: { type: 'string' },
      namespace: { type: 'string' },
      phase: { type: 'string', enum: [...RESOURCE_PHASES] },
      message: { type: 'string' },
    },
    required: ['kind', 'name', 'phase'],
  },
};

/** The common status of the guide; `required` as in the Go template: every write by the runtime has both. */
export const SERVICE_STATUS = {
  properties: {
    phase: { type: 'string', description: 'Progressing, Ready or Terminating.' },
    observedGeneration: {
      type: 'integer',
      format: 'int64',
      description: 'metadata.generation that was worked on last.',
    },
    conditions: CONDITIONS,
    resources: RESOURCES,
  },
  required: ['observedGeneration', 'phase'],
} as const;

export const PRINTER_COLUMNS = [
  { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
] as const;
