import { ENTRY_KINDS, type EntryKind } from './entry-kinds.ts';
import type { Shape, TypeOfField } from './field-shape.ts';

type FieldsOf<Kind extends EntryKind> = (typeof ENTRY_KINDS)[Kind]['fields'];

/** The data of an entry as it stands in the chain. */
export type EntryData<Kind extends EntryKind> = Shape<FieldsOf<Kind>, TypeOfField>;

/** The data of an entry to be: bodies are given whole, and the journal writes their commitments. */
export type DraftData<Kind extends EntryKind, Body> = Shape<
  FieldsOf<Kind>,
  Omit<TypeOfField, 'body'> & { readonly body: Body }
>;

export function isEntryKind(text: string): text is EntryKind {
  return Object.hasOwn(ENTRY_KINDS, text);
}
