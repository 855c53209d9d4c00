import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';

export interface CuttingProxy extends AsyncDisposable {
  readonly cuts: number;
  /** The same database, reached through the proxy. */
  through(url: string): string;
  /** The next `commit` loses its connection. */
  arm(): void;
}

interface CuttingProxyOptions {
  readonly socketDir: string;
  /** Whether the server never sees the commit, its answer never arrives, or the connection stays and says nothing. */
  readonly cut: 'request' | 'answer' | 'silence';
}

/** Stands before a PostgreSQL socket and breaks one connection at the worst moment: while it commits. */
export async function cuttingProxy({ socketDir, cut }: CuttingProxyOptions): Promise<CuttingProxy> {
  const directory = await mkdtemp('/tmp/palyra-cut-');
  const sockets = new Set<Socket>();
  let armed = false;
  let cuts = 0;

  const server = createServer((client) => {
    const upstream = connect(join(socketDir, '.s.PGSQL.5432'));
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => socket === client && upstream.destroy());
    }
    let doomed = false;
    client.on('data', (data) => {
      if (armed && data.includes('commit\0')) {
        armed = false;
        doomed = true;
        cuts += 1;
        if (cut === 'request') client.destroy();
      }
      if (!client.destroyed && !(doomed && cut === 'silence')) upstream.write(data);
    });
    upstream.on('data', (data) => {
      if (!doomed) client.write(data);
      else if (cut === 'answer') client.destroy();
    });
    upstream.on('close', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(join(directory, '.s.PGSQL.5432'), resolve));

  return {
    get cuts() {
      return cuts;
    },
    through: (url) => url.replace(encodeURIComponent(socketDir), encodeURIComponent(directory)),
    arm() {
      armed = true;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await rm(directory, { recursive: true });
    },
  };
}
