import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { TokenFile } from '../../../../functions/host/bearer.ts';
import { TOKEN_READ_MS } from '../../../../functions/tuning.ts';

const dir = mkdtempSync(join(tmpdir(), 'bearer-'));

afterEach(() => {
  vi.useRealTimers();
  rmSync(dir, { recursive: true });
});

test('a clock that is put back by an hour does not keep a token in use that was replaced', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  const path = join(dir, 'token');
  writeFileSync(path, 'old');
  const file = new TokenFile(path);
  expect(await file.read()).toBe('old');
  writeFileSync(path, 'new');
  vi.setSystemTime(Date.now() - 3_600_000);
  expect(await file.read()).toBe('old');
  vi.advanceTimersByTime(TOKEN_READ_MS + 1);
  expect(await file.read()).toBe('new');
});
