/** What a connection says first that wants palyrad itself, and no host. No method of HTTP begins so, nor does SOCKS. */
export const DOOR_WORD = 'PALYRA1\n';

/** Their bytes are told from those of fetches, whose numbers are palyrad's, by their numbers. */
export const FIRST_DOOR: number = 2 ** 31;
export const MOST_DOORS: number = 2 ** 31;

/** How much of one connection may be on its way. */
export const DOOR_WINDOW: number = 256 * 1024;
/** A piece of it. */
export const DOOR_PIECE: number = 64 * 1024;

export function isDoor(id: number): boolean {
  return id >= FIRST_DOOR;
}
