import { equal } from '../model/json.ts';
import { ROTATION_CHECK_MS, ROTATION_RETRY_MS } from '../tuning.ts';
import { HttpKubeClient } from './client.ts';
import { type PacedTransport, Pauses } from './pauses.ts';
import { agentFor, type TlsSettings, type Transport } from './transport.ts';

/** Where a server is, who it has to be and who we are to it, as it was when that was read. */
export interface Presented {
  readonly server: string;
  readonly tls: TlsSettings;
  /** The header of that name. */
  readonly authorization?: string | undefined;
}

/**
 * A client for what may be replaced at any time: server, authority, certificate, token, each in a file, a Secret or from a
 * plugin. Read again once it is a minute old, without that a request waits for it, and at once after a 401; then a second
 * time only when there is something else by now. What is read is used as a whole: no credential goes to the server of
 * another reading. While it can't be read, which is tried every ten seconds, what is at hand goes on being used.
 * @param read `again`: the server does not know what was read last, so nothing that is remembered will do
 */
export async function followingClient(read: (again: boolean) => Promise<Presented>): Promise<HttpKubeClient> {
  const first = await read(false);
  const following = new Following(first, read);
  return new HttpKubeClient(first.server, () => following.transport());
}

class Following {
  readonly #first: Presented;
  readonly #read: (again: boolean) => Promise<Presented>;
  #current: Presented;
  #dispatcher: Transport['dispatcher'];
  readonly #pauses = new Pauses();
  #readAgainAt = performance.now() + ROTATION_CHECK_MS;
  #reading: Promise<void> | undefined;
  /** What the server did not take, and what is done about it. */
  #rejected: { readonly presented: Presented; readonly at: number; readonly mended: Promise<void> } | undefined;

  constructor(first: Presented, read: (again: boolean) => Promise<Presented>) {
    this.#first = first;
    this.#current = first;
    this.#dispatcher = agentFor(first.tls);
    this.#read = read;
  }

  transport(): PacedTransport {
    if (performance.now() > this.#readAgainAt) void this.#refresh(false);
    const used = this.#current;
    return {
      dispatcher: this.#dispatcher,
      pauses: this.#pauses,
      authorization: () => Promise.resolve(used.authorization),
      address: (asked) => moved(asked, this.#first.server, used.server),
      renew: () => this.#renew(used),
    };
  }

  async #renew(used: Presented): Promise<boolean> {
    if (this.#current !== used) return true;
    const before = this.#rejected;
    const recent = before?.presented === used && performance.now() - before.at < ROTATION_CHECK_MS;
    // One that is on its way was begun without knowing of this, and may bring what is remembered.
    const mended = recent ? before.mended : (this.#reading ?? Promise.resolve()).then(() => this.#refresh(true));
    if (!recent) this.#rejected = { presented: used, at: performance.now(), mended };
    await mended;
    return this.#current !== used;
  }

  #refresh(again: boolean): Promise<void> {
    this.#reading ??= this.#read(again)
      .then((next) => {
        if (equal(next, this.#current)) return;
        // Connections of the one before are closed once they are idle; watches on it go on until they end.
        if (!equal(next.tls, this.#current.tls)) this.#dispatcher = agentFor(next.tls);
        this.#current = next;
      })
      // Unreadable for the moment: what is at hand may still be good.
      .then(
        () => (this.#readAgainAt = performance.now() + ROTATION_CHECK_MS),
        () => (this.#readAgainAt = performance.now() + ROTATION_RETRY_MS),
      )
      .then(() => {
        this.#reading = undefined;
      });
    return this.#reading;
  }
}

/** An address below the first server's, at the one that took its place; any other stays. */
function moved(asked: string, first: string, now: string): string {
  const base = first.replace(/\/$/, '');
  if (asked !== base && !asked.startsWith(`${base}/`)) return asked;
  return now.replace(/\/$/, '') + asked.slice(base.length);
}
