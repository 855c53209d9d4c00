/** What this host really enforces: each tier was started, and looked at from inside and from outside. */
export interface HostReport {
  /** As `uname -r` says it. */
  readonly kernel: string;
  readonly architecture: string;
  /** Whose tools would run: root's become another user's. */
  readonly uid: number;
  readonly bubblewrap: BubblewrapFacts | undefined;
  readonly tiers: readonly TierReport[];
}

export interface BubblewrapFacts {
  readonly path: string;
  /** Undefined when it gives none. */
  readonly version: string | undefined;
}

export interface TierReport {
  readonly tier: 'B' | 'C';
  readonly executor: string;
  /** `operator_only`: refused to agents, because something that would hold them back is missing. */
  readonly state: 'available' | 'operator_only' | 'unavailable';
  /** Why it is not `available`. */
  readonly reason: string | undefined;
  readonly fix: string | undefined;
  /** All of the tier, always in the same order; where nothing was started, what was not reached is `missing`. */
  readonly layers: readonly LayerReport[];
}

export interface LayerReport {
  /** API: one may be added, none is renamed. */
  readonly layer: string;
  readonly state: 'enforced' | 'partly' | 'missing';
  readonly detail: string;
  readonly fix: string | undefined;
}

export function enforced(layer: string, detail: string): LayerReport {
  return { layer, state: 'enforced', detail, fix: undefined };
}

export function partly(layer: string, detail: string, fix: string): LayerReport {
  return { layer, state: 'partly', detail, fix };
}

export function missing(layer: string, detail: string, fix?: string): LayerReport {
  return { layer, state: 'missing', detail, fix };
}

/** For the layers of a tier of which nothing could be started. */
export function unreached(layers: readonly string[]): readonly LayerReport[] {
  return layers.map((layer) => missing(layer, 'Not reached: nothing starts here.'));
}
