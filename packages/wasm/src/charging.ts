import { CHARGE, growPlaces, type MeterPlaces } from './meter-plan.ts';

/**
 * Which place pays for an instruction. A place may pay for all that comes after it until the block ends in which it
 * stands, with loops left out: whoever gets there has passed the place, and passes it again before getting there again.
 * After a branch it may pay for too much, which is the same on every machine and never too little; so that it stays
 * little, a place pays for `MOST_ON_SUSPICION` beyond the first branch and then another one begins.
 */
export interface Charging {
  readonly places: MeterPlaces;
  /** The place that pays for the next instruction. */
  payer: number;
  /** Per place, what it has paid on suspicion; -1 while no branch has been seen since. */
  suspicion: Int32Array;
  /** How many places charge, in the present body. */
  charges: number;
}

/** More makes code smaller and faster, and fuel coarser. */
const MOST_ON_SUSPICION = 24;
const NO_BRANCH_YET = -1;

export function createCharging(places: MeterPlaces): Charging {
  return { places, payer: 0, suspicion: new Int32Array(places.at.length), charges: 0 };
}

export function addPlace(charging: Charging, kind: number, at: number): number {
  const { places } = charging;
  if (places.length === places.at.length) {
    growPlaces(places);
    const grown = new Int32Array(places.at.length);
    grown.set(charging.suspicion);
    charging.suspicion = grown;
  }
  const index = places.length;
  places.length = index + 1;
  places.at[index] = at;
  places.kind[index] = kind;
  return index;
}

/** A new place pays from here on. */
export function beginPayer(charging: Charging, kind: number, at: number): number {
  const place = addPlace(charging, kind, at);
  charging.suspicion[place] = NO_BRANCH_YET;
  charging.payer = place;
  charging.charges += 1;
  return place;
}

/** SECURITY: T-26 — every instruction that can run is paid for by a place that is passed whenever the instruction is reached. */
export function charge(charging: Charging, at: number, fuel: number): void {
  const { suspicion, payer } = charging;
  const paid = suspicion[payer] as number;
  if (paid === NO_BRANCH_YET) {
    charging.places.amount[payer] = (charging.places.amount[payer] as number) + fuel;
    return;
  }
  let place = payer;
  if (paid + fuel > MOST_ON_SUSPICION) place = beginPayer(charging, CHARGE, at);
  else suspicion[payer] = paid + fuel;
  charging.places.amount[place] = (charging.places.amount[place] as number) + fuel;
}

/** What comes now may not be reached although the payer was passed. */
export function suspect({ suspicion, payer }: Charging): void {
  if (suspicion[payer] === NO_BRANCH_YET) suspicion[payer] = 0;
}
