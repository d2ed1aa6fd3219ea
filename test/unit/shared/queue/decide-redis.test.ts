import { describe, expect, test } from 'vitest';
import { deniedBy, factsOf, rightsProblems, serverProblems } from '../../../../shared/queue/decide-redis.ts';

describe('what a server says of itself', () => {
  test('is read from INFO, and what it hides is unknown', () => {
    expect(factsOf('# Server\r\nredis_version:7.0.15\r\n# Memory\r\nmaxmemory_policy:volatile-lru\r\n')).toEqual({
      version: '7.0.15',
      policy: 'volatile-lru',
    });
    expect(factsOf('')).toEqual({ version: undefined, policy: undefined });
  });

  test.each([
    [[{}], []],
    [[{ version: '6.2.0', policy: 'noeviction' }], []],
    [[{ version: '10.0.1' }], []],
    [[{ version: '6.0.16' }], ['Redis 6.0.16 is too old; use 6.2 or newer']],
    [
      [{ policy: 'noeviction' }, { policy: 'allkeys-lru' }, { policy: 'allkeys-lru' }],
      ['Redis has maxmemory-policy allkeys-lru and may drop work; set it to noeviction'],
    ],
  ])('%o: %o', (servers, problems) => {
    expect(serverProblems(servers)).toEqual(problems);
  });
});

describe('a refusal', () => {
  test.each([
    ["NOPERM this user has no permissions to run the 'bzpopmin' command", { command: 'bzpopmin', keys: false }],
    [
      "NOPERM User foo has no permissions to run the 'client|setname' command",
      { command: 'client|setname', keys: false },
    ],
    ["ERR The user executing the script can't run this command or subcommand", { keys: false }],
    ['NOPERM this user has no permissions to access one of the keys used as arguments', { keys: true }],
    ['NOPERM No permissions to access a key', { keys: true }],
    [
      "ERR The user executing the script can't access at least one of the keys mentioned in the command arguments",
      { keys: true },
    ],
    ['WRONGTYPE Operation against a key holding the wrong kind of value', undefined],
    ['Connection is closed.', undefined],
  ])('%s', (message, denied) => {
    expect(deniedBy(message)).toEqual(denied);
  });

  test('is said with the remedy, each command once', () => {
    const denied = [
      { command: 'zadd', keys: false },
      { command: 'xadd', keys: false },
      { command: 'zadd', keys: false },
    ];
    expect(rightsProblems(denied, '{p}')).toEqual(['Redis refuses xadd, zadd: ACL SETUSER … +xadd +zadd']);
    expect(rightsProblems([{ keys: true }], '{p}')).toEqual([
      'Redis refuses keys of this provider: ACL SETUSER … ~{p}:*',
    ]);
    expect(rightsProblems([{ keys: false }], '{p}')).toHaveLength(1);
    expect(rightsProblems([], '{p}')).toEqual([]);
  });
});
