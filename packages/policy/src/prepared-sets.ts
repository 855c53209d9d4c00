import { type CedarFailure, type NamedPolicy, preparePolicies, prepareSchema, type SchemaSource } from './cedar.ts';

/** A name under which Cedar holds something parsed, until it is given back. */
export interface Slot {
  readonly name: string;
  release(): void;
}

export type SlotAnswer = CedarFailure | { readonly kind: 'slot'; readonly slot: Slot };

export interface PreparedSets {
  /** The slot that holds these policies, prepared now if it is not there yet. The key stands for the policies. */
  slotOf(key: string, policies: () => readonly NamedPolicy[]): SlotAnswer;
  /** Gives every slot back. Nothing may be asked afterwards. */
  close(): void;
}

export interface PreparedSetsLimits {
  readonly mostSets: number;
  readonly mostPolicies: number;
}

/** About 1.3 KB each in Cedar: 32 MB at the most. */
const LIMITS: PreparedSetsLimits = { mostSets: 512, mostPolicies: 25_000 };

/** Keeps the sets used last. A set that is asked for again after it was dropped is parsed again. */
export function createPreparedSets({ mostSets, mostPolicies }: PreparedSetsLimits = LIMITS): PreparedSets {
  // In the order of their last use: a Map keeps the order of insertion.
  const sets = new Map<string, Prepared>();
  let policiesHeld = 0;

  const drop = (key: string, { slot, size }: Prepared) => {
    sets.delete(key);
    policiesHeld -= size;
    slot.release();
  };
  const makeRoomFor = (size: number) => {
    for (const [key, set] of sets) {
      if (sets.size < mostSets && policiesHeld + size <= mostPolicies) return;
      drop(key, set);
    }
  };

  return {
    slotOf(key, policies) {
      const known = sets.get(key);
      if (known !== undefined) {
        sets.delete(key);
        sets.set(key, known);
        return { kind: 'slot', slot: known.slot };
      }
      const wanted = policies();
      makeRoomFor(wanted.length);
      const slot = takePolicySlot();
      const answer = preparePolicies(slot.name, wanted);
      if (answer.kind === 'failed') {
        slot.release();
        return answer;
      }
      sets.set(key, { slot, size: wanted.length });
      policiesHeld += wanted.length;
      return { kind: 'slot', slot };
    },
    close() {
      for (const [key, set] of sets) drop(key, set);
    },
  };
}

/** One parsed copy of each schema in use. One that is no longer used stays until its place is needed. */
export function takeSchemaSlot(schema: SchemaSource): SlotAnswer {
  const source = typeof schema === 'string' ? schema : JSON.stringify(schema);
  const known = schemas.find((place) => place.source === source);
  if (known !== undefined) return { kind: 'slot', slot: used(known) };

  const free = schemas.find((place) => place.users === 0) ?? { name: `schema-${schemas.length}`, source, users: 0 };
  const answer = prepareSchema(free.name, schema);
  // Cedar keeps what was in the slot when the new text does not parse.
  if (answer.kind === 'failed') return answer;
  free.source = source;
  if (!schemas.includes(free)) schemas.push(free);
  return { kind: 'slot', slot: used(free) };
}

interface Prepared {
  readonly slot: Slot;
  readonly size: number;
}

interface SchemaPlace {
  readonly name: string;
  source: string;
  users: number;
}

/*
 * Cedar caches by name, per thread, and has no call to forget one: 200 names of 100 policies each never gave their
 * 26 MB back. So names are shared by all evaluators of the thread and used again; this is the only state of its kind.
 */
const freePolicySlots: string[] = [];
const schemas: SchemaPlace[] = [];
let policySlotsMade = 0;

function takePolicySlot(): Slot {
  const name = freePolicySlots.pop() ?? `policies-${policySlotsMade++}`;
  return {
    name,
    release() {
      // SECURITY: T-09 — what is given back holds nothing, so that a slot used by mistake permits nothing.
      preparePolicies(name, []);
      freePolicySlots.push(name);
    },
  };
}

function used(place: SchemaPlace): Slot {
  place.users += 1;
  return {
    name: place.name,
    release() {
      place.users -= 1;
    },
  };
}
