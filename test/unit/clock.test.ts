import { expect, it } from "vitest";
import { wallMinusMonotonic } from "../../src/clock.ts";
import { ManualClock } from "../support/manual-clock.ts";

it("shows a moment by the same date however the two clocks are read, until the wall clock is set", () => {
  const clock = new ManualClock();
  const lead = clock.dateOffset;
  const date = clock.date.bind(clock);
  // As the system's: whole milliseconds, read a little after the monotonic clock.
  clock.date = () => Math.floor(date() + 0.3);
  const leads = new Set<number>();
  for (let read = 0; read < 100; read++) {
    clock.advance(0.37);
    leads.add(wallMinusMonotonic(clock));
  }
  expect(leads.size).toBe(1);
  clock.dateOffset = lead - 3_600_000;
  expect(wallMinusMonotonic(clock)).toBeCloseTo(lead - 3_600_000, -1);
  clock.dateOffset = lead + 20;
  expect(wallMinusMonotonic(clock)).toBeGreaterThan(lead + 15);
});
