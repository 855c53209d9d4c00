/**
 * What a metered module exports beside its own. No guest may import or export a name that begins so, neither to stand in
 * for a counter nor to be handed that of a module it is linked with.
 */
export const RESERVED_PREFIX = 'palyra.meter.';

/** A mutable `i64`: what is left. The host sets it before each call; below zero it is spent. */
export const FUEL_EXPORT = 'palyra.meter.fuel';
/** A mutable `i64`: slots of eight bytes that calls may still put on the stack. The host sets it before each call. */
export const STACK_EXPORT = 'palyra.meter.stack';
/** The module's start function, which V8 would otherwise run before the host has given any fuel. */
export const START_EXPORT = 'palyra.meter.start';
/** A mutable `i32`: what `memory.grow` answered last; -1 when it was refused. */
export const GROWTH_EXPORT = 'palyra.meter.growth';
/** The memory, whether or not the guest exports it. */
export const MEMORY_EXPORT = 'palyra.meter.memory';
/** There when everything that a call can change is exported under one of the next two: an instance can be put back then. */
export const RESTORABLE_EXPORT = 'palyra.meter.restorable';
/** With its index behind it. */
export const GLOBAL_EXPORT_PREFIX = 'palyra.meter.global.';
export const TABLE_EXPORT_PREFIX = 'palyra.meter.table.';
