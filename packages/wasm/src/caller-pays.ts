import { BEFORE_CALL, CHARGE, type MeterPlaces, type MeterPlan, NOT_AT_ALL } from './meter-plan.ts';

/** All instructions of a function together, whichever of them run. */
export const MOST_UNMETERED_FUEL = 24;
const MOST_UNMETERED_SLOTS = 64;

/** Whether a body without loops, calls and bulk instructions is small enough to be left as it is. */
export function canCallersPay(places: MeterPlaces, firstPlace: number, frameSlots: number): boolean {
  return frameSlots <= MOST_UNMETERED_SLOTS && fuelOf(places, firstPlace, places.length) <= MOST_UNMETERED_FUEL;
}

/**
 * Has the callers of unmetered functions pay for all that these can do, and takes away what surrounds such calls:
 * the callee touches no counter. Callers by reference have paid for the most that any of them costs.
 */
export function letCallersPay({ places, bodies }: MeterPlan, importedFunctions: number): void {
  for (const body of bodies) {
    for (let place = body.firstPlace; place < body.endPlace; place += 1) {
      if (places.kind[place] !== BEFORE_CALL) continue;
      const callee = bodies[(places.depth[place] as number) - importedFunctions];
      if (callee?.isUnmetered !== true) continue;
      const payer = places.amount[place] as number;
      // SECURITY: T-26 — an unmetered function is free for nobody: the place that pays for the call pays for it as well.
      places.amount[payer] = (places.amount[payer] as number) + fuelOf(places, callee.firstPlace, callee.endPlace);
      places.kind[place] = NOT_AT_ALL;
      // A call leaves two places, one on each side.
      places.kind[place + 1] = NOT_AT_ALL;
      body.calls -= 1;
    }
  }
}

function fuelOf(places: MeterPlaces, first: number, end: number): number {
  let fuel = 0;
  for (let place = first; place < end; place += 1) {
    if (places.kind[place] === CHARGE) fuel += places.amount[place] as number;
  }
  return fuel;
}
