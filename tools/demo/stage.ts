/** What a scene of the demo gets: a throw-away home, and a way to speak. */
export interface Stage {
  readonly home: string;
  say(line: string): void;
}

/** A scene that did not go as told ends the demo with a non-zero exit. */
export function holds(condition: boolean, claim: string): void {
  if (!condition) throw new Error(`The demo claims that ${claim}, and it is not so.`);
}
