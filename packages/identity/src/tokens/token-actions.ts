/**
 * Everything a token may be for. Of the actions in the Cedar schema these are all but those of people and administrators; a
 * test holds the list to the schema.
 * SECURITY: T-36 — a list of what may be and not of what may not: an action that is new is in no token.
 */
export const TOKEN_ACTIONS: readonly string[] = [
  'tool.execute',
  'skill.execute',
  'tool.list',
  'tool.get',
  'tool.status',
  'tool.health',
  'tool.read',
  'daemon.status',
  'daemon.metrics',
  'protocol.version',
  'workspace.list',
  'skill.list',
  'memory.ingest',
  'memory.search',
  'memory.get',
  'memory.list',
  'memory.delete',
  'memory.purge',
  'vault.list',
  'vault.use',
  'run.start',
  'run.read',
  'run.cancel',
  'run.undo',
];
