import { timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { messageOf, RuntimeError } from '../../shared/errors.ts';
import { TOKEN_READ_MS } from '../tuning.ts';

/** The token in an `Authorization` header. */
export function bearerOf(authorization: string | undefined): string | undefined {
  return /^Bearer (\S+)$/i.exec(authorization ?? '')?.[1];
}

/** A token in a file that may be replaced at any time; read again after some seconds. */
export class TokenFile {
  readonly #path: string;
  #token: { readonly value: string; readonly until: number } | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** @throws RuntimeError `INVALID_SETTINGS` where the file can't be read, or holds nothing */
  async read(): Promise<string> {
    if (this.#token && Date.now() < this.#token.until) return this.#token.value;
    const value = await readFile(this.#path, 'utf8').then(
      (text) => text.trim(),
      (error: unknown) => {
        throw new RuntimeError('INVALID_SETTINGS', `token file: ${messageOf(error)}`);
      },
    );
    if (value === '') throw new RuntimeError('INVALID_SETTINGS', `token file: ${this.#path} is empty`);
    this.#token = { value, until: Date.now() + TOKEN_READ_MS };
    return value;
  }

  /** Whether an `Authorization` header has this token; takes as long for any wrong one. */
  async admits(authorization: string | undefined): Promise<boolean> {
    const given = Buffer.from(bearerOf(authorization) ?? '');
    const wanted = Buffer.from(await this.read());
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  }
}
