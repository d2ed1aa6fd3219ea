import { timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { messageOf, RuntimeError } from '../../shared/errors.ts';
import { TOKEN_READ_MS } from '../tuning.ts';

/** The token in an `Authorization` header. */
export function bearerOf(authorization: string | undefined): string | undefined {
  return /^Bearer (\S+)$/i.exec(authorization ?? '')?.[1];
}

/**
 * A token in a file that may be replaced at any time; read again after some seconds. While the file can't be read, the
 * token that it held last stays in use.
 */
export class TokenFile {
  readonly #path: string;
  #token: { readonly value: string; until: number } | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** @throws RuntimeError `INVALID_SETTINGS` where the file could never be read, or holds nothing */
  async read(): Promise<string> {
    const before = this.#token;
    if (before && performance.now() < before.until) return before.value;
    const until = performance.now() + TOKEN_READ_MS;
    try {
      const value = (await readFile(this.#path, 'utf8')).trim();
      if (value === '') throw new Error(`${this.#path} is empty`);
      this.#token = { value, until };
      return value;
    } catch (error) {
      if (!before) throw new RuntimeError('INVALID_SETTINGS', `token file: ${messageOf(error)}`, { cause: error });
      before.until = until;
      return before.value;
    }
  }

  /** Whether an `Authorization` header has this token; takes as long for any wrong one. */
  async admits(authorization: string | undefined): Promise<boolean> {
    const given = Buffer.from(bearerOf(authorization) ?? '');
    const wanted = Buffer.from(await this.read());
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  }
}
