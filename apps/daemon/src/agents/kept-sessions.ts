/** Sessions of agents by what tells them apart, no more than so many of them. */
export interface KeptSessions<Session> {
  /** The one of this key; begun where there is none. Throws what `begin` throws, and then there is still none. */
  open(key: string, begin: () => Promise<Session>): Promise<Session>;
  get(key: string): Promise<Session> | undefined;
  /** Those whose key is such a one are kept no longer, and left. */
  take(isWanted: (key: string) => boolean): Promise<readonly Session[]>;
  /** It is over, whoever ended it. */
  forget(session: Session): void;
  close(): void;
}

export interface KeptSessionsDeps<Session> {
  /** Done to each that is kept no longer. */
  leave(session: Session): void;
  readonly most?: number;
}

/** Sub-agents and forgotten conversations included. */
const MOST_SESSIONS = 1024;

export function createKeptSessions<Session>({
  leave,
  most = MOST_SESSIONS,
}: KeptSessionsDeps<Session>): KeptSessions<Session> {
  const sessions = new Map<string, Promise<Session>>();
  /** One that could not be begun was never there. */
  const leaveLater = (opening: Promise<Session>) => void opening.then(leave, () => undefined);
  return {
    open(key, begin) {
      const known = sessions.get(key);
      if (known !== undefined) return known;
      const [oldest] = sessions;
      // SECURITY: T-39 — who names another one each time has no more of them; of the oldest nothing is reported any more.
      if (oldest !== undefined && sessions.size >= most) {
        sessions.delete(oldest[0]);
        leaveLater(oldest[1]);
      }
      const opening = begin();
      sessions.set(key, opening);
      opening.catch(() => sessions.get(key) === opening && sessions.delete(key));
      return opening;
    },
    get: (key) => sessions.get(key),
    async take(isWanted) {
      const wanted = [...sessions].filter(([key]) => isWanted(key));
      for (const [key, opening] of wanted) {
        sessions.delete(key);
        leaveLater(opening);
      }
      const ended = await Promise.allSettled(wanted.map(([, opening]) => opening));
      return ended.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    },
    forget(session) {
      leave(session);
      const drop = (key: string, opening: Promise<Session>) => (one: Session) => {
        if (one === session && sessions.get(key) === opening) sessions.delete(key);
      };
      for (const [key, opening] of sessions) void opening.then(drop(key, opening), () => undefined);
    },
    close() {
      for (const opening of sessions.values()) leaveLater(opening);
      sessions.clear();
    },
  };
}
