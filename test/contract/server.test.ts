import { httpRig } from './http-rig.ts';
import { contract } from './suite.ts';

contract('a server', () => httpRig());
