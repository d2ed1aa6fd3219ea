import { queueRig } from './queue-rig.ts';
import { contract } from './suite.ts';

contract('a dispatcher and a server', () => queueRig('dispatcher'));
