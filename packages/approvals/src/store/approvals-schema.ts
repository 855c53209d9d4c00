import type { Migration } from '@palyra/storage';

export type ApprovalState = 'pending' | 'approved' | 'denied' | 'expired' | 'cancelled' | 'superseded';

/** One card. It says where the statements are and what to show; it approves nothing by itself. */
export interface ApprovalRow {
  readonly id: string;
  /** Without salt, to find the same again; it goes with the card. What is shown and signed has one. */
  readonly subject: string;
  /** Of everything that is asked and demanded, apart from the agent's words. */
  readonly asks: string;
  readonly state: ApprovalState;
  readonly principal: string;
  readonly session: string;
  readonly workspace: string;
  /** Of the first that asked. Nobody who asked may decide. */
  readonly credential: string;
  readonly policy_set: string;
  /** Canonical JSON, as shown. */
  readonly prompt: string;
  readonly effects: string;
  readonly needs: string;
  /** How often people have said yes: only to notice one who does so at the same time. */
  readonly votes: number;
  readonly scope: string | null;
  readonly reason: string | null;
  /** The grant that released it without an answer of its own. */
  readonly via_grant: string | null;
  readonly asked_at: number;
  readonly expires_at: number;
  readonly ended_at: number | null;
  /** The call that used a yes for one use. */
  readonly used_by: string | null;
  readonly used_at: number | null;
}

/** Who waits for a card's answer. */
export interface AskerRow {
  readonly principal: string;
  readonly key: string;
  readonly approval_id: string;
  readonly credential: string;
  readonly run: string;
  readonly asked_at: number;
}

/** One person's signed answer. */
export interface VoteRow {
  readonly approval_id: string;
  readonly person: string;
  readonly statement: string;
  readonly signature: Uint8Array;
}

export type GrantState = 'live' | 'revoked' | 'expired' | 'fallen';

export interface GrantRow {
  readonly id: string;
  /** Whose votes are the signed statements of this grant. */
  readonly approval_id: string;
  readonly principal: string;
  readonly workspace: string;
  readonly session: string | null;
  readonly scope: string;
  readonly state: GrantState;
  /** The policies under which it was last decided. */
  readonly policy_set: string;
  readonly issued_at: number;
  readonly expires_at: number;
  readonly ended_at: number | null;
  readonly ended_by: string | null;
  readonly uses: number;
  readonly last_used_at: number | null;
}

/** How a principal's questions were answered of late. */
export interface PrincipalRow {
  readonly principal: string;
  readonly denials: number;
  readonly denied_at: number;
  readonly cooling_until: number;
}

export interface ApprovalsSchema {
  readonly approvals: ApprovalRow;
  readonly approval_askers: AskerRow;
  readonly approval_votes: VoteRow;
  readonly approval_grants: GrantRow;
  readonly approval_principals: PrincipalRow;
}

export const APPROVAL_MIGRATIONS: readonly Migration[] = [
  {
    id: 'approvals/0001-approvals',
    statements: (t) => [
      `create table approvals (
         id ${t.text} primary key, subject ${t.text} not null, asks ${t.text} not null, state ${t.text} not null,
         principal ${t.text} not null,
         session ${t.text} not null, workspace ${t.text} not null, credential ${t.text} not null,
         policy_set ${t.text} not null, prompt ${t.text} not null, effects ${t.text} not null, needs ${t.text} not null,
         votes ${t.integer} not null, scope ${t.text}, reason ${t.text}, via_grant ${t.text},
         asked_at ${t.integer} not null, expires_at ${t.integer} not null, ended_at ${t.integer},
         used_by ${t.text}, used_at ${t.integer}
       )${t.strict}`,
      // Equal open questions are one card, whoever asks at the same time.
      `create unique index approvals_open on approvals (asks) where state = 'pending'`,
      `create index approvals_open_of on approvals (principal, workspace) where state = 'pending'`,
      // For the inbox, oldest first, however many have ended.
      `create index approvals_inbox on approvals (id) where state = 'pending'`,
      `create index approvals_due on approvals (expires_at) where state = 'pending'`,
      'create index approvals_of on approvals (principal, asked_at)',
      'create index approvals_subject on approvals (subject, ended_at)',
      'create index approvals_ended on approvals (ended_at) where ended_at is not null',
      `create table approval_askers (
         principal ${t.text} not null, key ${t.text} not null, approval_id ${t.text} not null,
         credential ${t.text} not null, run ${t.text} not null, asked_at ${t.integer} not null,
         primary key (principal, key)
       )${t.strict}`,
      'create index approval_askers_card on approval_askers (approval_id)',
      'create index approval_askers_run on approval_askers (run)',
      `create table approval_votes (
         approval_id ${t.text} not null, person ${t.text} not null, statement ${t.text} not null,
         signature ${t.bytes} not null, primary key (approval_id, person)
       )${t.strict}`,
      `create table approval_grants (
         id ${t.text} primary key, approval_id ${t.text} not null, principal ${t.text} not null,
         workspace ${t.text} not null, session ${t.text}, scope ${t.text} not null, state ${t.text} not null,
         policy_set ${t.text} not null, issued_at ${t.integer} not null, expires_at ${t.integer} not null,
         ended_at ${t.integer}, ended_by ${t.text}, uses ${t.integer} not null, last_used_at ${t.integer}
       )${t.strict}`,
      `create index approval_grants_live on approval_grants (principal, workspace) where state = 'live'`,
      'create unique index approval_grants_approval on approval_grants (approval_id)',
      `create table approval_principals (
         principal ${t.text} primary key, denials ${t.integer} not null, denied_at ${t.integer} not null,
         cooling_until ${t.integer} not null
       )${t.strict}`,
    ],
  },
];

/** Told of every new card, with its id. */
export const ASKED_CHANNEL = 'approvals.asked';
/** Told of every card that has an answer or no longer needs one, with its id. */
export const ENDED_CHANNEL = 'approvals.ended';
/** Told of every approval and grant that must not be used again, with its id. */
export const SPENT_CHANNEL = 'approvals.spent';
