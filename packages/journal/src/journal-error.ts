import { AppError } from '@palyra/primitives/browser';

/** Codes are API: add one, never rename one. */
export const JOURNAL_ERRORS = {
  'journal.invalid_entry': 'An entry does not have the fields of its kind.',
  'journal.invalid_actor': 'An actor is not written as the journal writes actors.',
  'journal.invalid_key': 'A key, or the text of one, cannot be used.',
  'journal.key_missing': 'A key file is not there.',
  'journal.key_unsafe': 'Other users of this machine can read or replace a key file.',
  'journal.key_not_certified': 'The root key has not certified this key for this log.',
  'journal.invalid_note': 'A checkpoint is not a signed note of the expected form.',
  'journal.invalid_proof': 'A Merkle proof does not prove what it should.',
  'journal.invalid_envelope': 'An attestation is not a DSSE envelope with an in-toto statement.',
  'journal.invalid_snapshot': 'A policy snapshot does not have the fields of one.',
  'journal.invalid_export': 'A file is not an export or a bundle of a journal.',
  'journal.invalid_query': 'A query asks for what the journal cannot answer.',
  'journal.no_log': 'There is no log in this database yet.',
  'journal.log_exists': 'There is a log in this database already.',
  'journal.not_found': 'There is no such entry, call, body or checkpoint.',
  'journal.body_erased': 'The body was erased; its commitment stays.',
  'journal.body_corrupt': 'A stored body is not the one that was committed to.',
  'journal.not_recorded': 'The journal could not take the entries; nothing was written.',
  'journal.outcome_unknown': 'Whether the entries were written could not be established.',
  'journal.attested_before': 'The call has an attestation in this log already.',
  'journal.own_log': 'A home cannot witness its own log.',
  'journal.not_consistent': 'A log does not continue the one that was seen before.',
  'journal.cannot_prune': 'What shall be pruned is not sealed and archived.',
  'journal.body_unsafe': 'Other users of this machine can change what is in the directory of bodies.',
  'journal.body_unreadable': 'A stored body cannot be looked at now, which says nothing about what it holds.',
  'journal.not_erased': 'A body could not be erased; its bytes may still be on the disk.',
  'journal.crypto_missing': 'This browser or Node cannot check Ed25519 signatures.',
  'journal.invalid_request': 'A file is not what a log asks of a witness, or what a witness answers.',
  'journal.witness_store': 'What a witness remembers cannot be read, written or held for itself alone.',
  'journal.not_archived': 'A segment could not be archived, so it stays in the journal.',
  'journal.pruned_meanwhile': 'A log was pruned while it was read, so nothing can be said about it yet.',
  'journal.earlier_release': 'The database is as an earlier release left it, and this one reads another form of it.',
  'journal.verification_limit': 'Verifying this would take more than it may.',
} as const;

export type JournalErrorCode = keyof typeof JOURNAL_ERRORS;

export class JournalError extends AppError<JournalErrorCode> {}
