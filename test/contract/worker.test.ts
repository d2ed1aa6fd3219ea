import { queueRig } from './queue-rig.ts';
import { contract } from './suite.ts';

contract('a worker', () => queueRig('worker'));
