import { describe, expect, it } from "vitest";
import { OverloadGuard } from "../../src/calls/overload-guard.ts";
import { ManualClock } from "../support/manual-clock.ts";

function scene(limit = 90) {
  const clock = new ManualClock();
  const story: string[] = [];
  let load = 0;
  const changed = (overloaded: boolean): void => void story.push(overloaded ? "overloaded" : "over");
  const guard = new OverloadGuard(limit, { clock, load: () => load, changed });
  guard.start();
  /** So many half seconds at this load, in percent. */
  const pass = (samples: number, percent: number): void => {
    load = percent / 100;
    clock.advance(samples * 500);
  };
  /** Of a hundred new requests. */
  const refused = (): number => Array.from({ length: 100 }, () => guard.refuses()).filter(Boolean).length;
  return { clock, guard, story, pass, refused };
}

describe("load-limit", () => {
  it("refuses nothing while there is rest, and nothing in a burst of less than two seconds", () => {
    const { guard, story, pass, refused } = scene();
    pass(100, 89);
    expect([guard.load, refused()]).toEqual([0.89, 0]);
    pass(3, 100);
    expect(refused()).toBe(0);
    pass(1, 89);
    pass(3, 100);
    expect([refused(), story]).toEqual([0, []]);
  });

  it("refuses a tenth more with every half second without rest, nine tenths at most, evenly", () => {
    const { guard, story, pass, refused } = scene();
    pass(4, 100);
    expect(refused()).toBe(10);
    pass(1, 90);
    const next = Array.from({ length: 10 }, () => guard.refuses());
    expect(next.flatMap((no, at) => (no ? [at] : []))).toEqual([4, 9]);
    pass(50, 100);
    expect(refused()).toBe(90);
    expect(story).toEqual(["overloaded"]);
  });

  it("takes more again as rest comes back, and everything at once when there is plenty", () => {
    const { story, pass, refused } = scene();
    pass(8, 100);
    expect(refused()).toBe(50);
    pass(2, 80);
    expect(refused()).toBe(40);
    pass(1, 44);
    expect([refused(), story]).toEqual([0, ["overloaded", "over"]]);
    pass(4, 100);
    pass(2, 80);
    expect([refused(), story]).toEqual([0, ["overloaded", "over", "overloaded", "over"]]);
  });

  it("of 0 refuses nothing, and stopped it measures no more", () => {
    const { clock, guard, pass, refused } = scene(0);
    pass(50, 100);
    expect([guard.load, refused()]).toEqual([1, 0]);
    guard.stop();
    expect(clock.pending).toBe(0);
  });
});
