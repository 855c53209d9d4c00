import type { Migration } from '@palyra/storage';

export interface WorkspaceRow {
  readonly id: string;
  /** The palyrad on whose host the folder is: a path means something else elsewhere. */
  readonly owner: string;
  readonly root: string;
  readonly added_by: string;
  readonly added_at: number;
}

export const WORKSPACE_MIGRATIONS: readonly Migration[] = [
  {
    id: 'gateway/0002-workspaces',
    statements: (t) => [
      `create table gateway_workspaces (
         id ${t.text} primary key, owner ${t.text} not null, root ${t.text} not null, added_by ${t.text} not null,
         added_at ${t.integer} not null
       )${t.strict}`,
      'create unique index gateway_workspaces_root on gateway_workspaces (owner, root)',
    ],
  },
];
