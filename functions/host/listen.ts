/** What a server is asked for here. */
interface Listener {
  listen(address: { host: string; port: number }): Promise<unknown>;
}

export const ANY_HOST = '::';

/** Codes of a machine without IPv6, by what is switched off where. */
const NO_IPV6: ReadonlySet<unknown> = new Set(['EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EINVAL']);

/** Listens at an address; at {@link ANY_HOST} by IPv4 and IPv6, and by IPv4 alone where there is nothing else. */
export async function listenOn(server: Listener, { host, port }: { host: string; port: number }): Promise<void> {
  try {
    await server.listen({ host, port });
  } catch (error) {
    if (host !== ANY_HOST || !NO_IPV6.has((error as { code?: unknown }).code)) throw error;
    await server.listen({ host: '0.0.0.0', port });
  }
}
