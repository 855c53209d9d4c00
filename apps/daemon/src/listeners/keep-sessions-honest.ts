import type { Http2SecureServer, Http2Server, ServerHttp2Session } from 'node:http2';

const ASK_EVERY_MS = 30_000;

/**
 * Asks each HTTP/2 connection whether its client still answers; one that did not by the next time is ended.
 * SECURITY: T-39 — a client that went away without a word, or stopped reading, would keep its streams for ever.
 */
export function keepSessionsHonest(server: Http2SecureServer | Http2Server, askEveryMs: number = ASK_EVERY_MS): void {
  server.on('session', (session: ServerHttp2Session) => {
    let isAsked = false;
    const ask = () => {
      if (session.destroyed) return;
      if (isAsked) return session.destroy();
      isAsked = true;
      session.ping((error) => {
        if (error === null) isAsked = false;
      });
    };
    const timer = setInterval(ask, askEveryMs);
    timer.unref();
    session.once('close', () => clearInterval(timer));
    session.on('error', () => session.destroy());
  });
}
