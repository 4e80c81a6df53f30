import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AppSession } from "../../src/engine/core/app-session.ts";
import { type EngineDialog, EngineDialogs } from "../../src/engine/core/engine-dialog.ts";
import { type Dialog, dialogId } from "../../src/engine/dialog/dialog.ts";
import { DialogStore } from "../../src/engine/dialog/dialog-store.ts";
import { defaultTimers } from "../../src/engine/transaction/timers.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { incoming, responseFor } from "./engine-transaction-support.ts";

function dialog(role: Dialog["role"], callId: string, localTag: string, remoteTag: string) {
  const data: Dialog = {
    id: dialogId(callId, role === "uac" ? localTag : remoteTag),
    role,
    callId,
    localTag,
    remoteTag,
    local: `<sip:us>;tag=${localTag}`,
    remote: `<sip:them>;tag=${remoteTag}`,
    state: "confirmed",
    localSeq: -1,
    remoteSeq: -1,
    inviteSeq: -1,
    listener: "",
    localContact: "",
    remoteTarget: "sip:them",
    routeSet: [],
    path: "",
    secure: false,
  };
  return { data };
}

describe("the store of dialogs", () => {
  it.each(["uac", "uas"] as const)("finds a %s dialog by id and by tags, until it is deleted", (role) => {
    const store = new DialogStore<ReturnType<typeof dialog>>();
    const kept = dialog(role, "x", "us", "them");
    expect(store.add(kept)).toBe(true);
    expect(store.get(kept.data.id)).toBe(kept);
    expect(store.find("x", "us", "them")).toBe(kept);
    expect(store.find("x", "them", "us")).toBeUndefined();
    expect(store.find("y", "us", "them")).toBeUndefined();
    expect(store.find("x", "us", "other")).toBeUndefined();
    store.delete(kept);
    expect(store.get(kept.data.id)).toBeUndefined();
    expect(store.find("x", "us", "them")).toBeUndefined();
    expect(store.size).toBe(0);
  });

  it("finds the dialog of the peer's request by its To tag and of the peer's response by its From tag", () => {
    const store = new DialogStore<ReturnType<typeof dialog>>();
    const uas = dialog("uas", "in@127.0.0.2", "us", "c");
    const uac = dialog("uac", "out@127.0.0.1", "a", "b");
    store.add(uas);
    store.add(uac);
    expect(store.ofRequest(incoming("BYE", { toTag: "us" }))).toBe(uas);
    expect(store.ofRequest(incoming("BYE", { toTag: "other" }))).toBeUndefined();
    expect(store.ofResponse(responseFor({ method: "INVITE", branch: "z9hG4bK-1" }, 200))).toBe(uac);
  });

  it("keeps forks of one INVITE apart: the first has the plain id", () => {
    const store = new DialogStore<ReturnType<typeof dialog>>();
    const first = dialog("uac", "x", "us", "fork-1");
    const second = dialog("uac", "x", "us", "fork-2");
    store.add(first);
    store.add(second);
    expect([first.data.id, second.data.id]).toEqual(["x;from-tag=us", "x;from-tag=us;to-tag=fork-2"]);
    store.delete(first);
    expect(store.find("x", "us", "fork-1")).toBeUndefined();
    expect(store.find("x", "us", "fork-2")).toBe(second);
    expect(store.get(second.data.id)).toBe(second);
  });

  it("refuses the same dialog a second time", () => {
    const store = new DialogStore<ReturnType<typeof dialog>>();
    store.add(dialog("uas", "x", "us", "them"));
    expect(store.add(dialog("uas", "x", "us", "them"))).toBe(false);
    expect(store.size).toBe(1);
  });

  it("leaves a dialog alone when another of the same id is deleted", () => {
    const store = new DialogStore<ReturnType<typeof dialog>>();
    const kept = dialog("uas", "x", "us", "them");
    store.add(kept);
    store.delete(dialog("uas", "x", "us", "them"));
    expect([...store]).toEqual([kept]);
  });

  it("finds every dialog it has taken and none it has let go, whatever the order", () => {
    const tag = fc.constantFrom("1", "2", "3");
    const step = fc.record({
      role: fc.constantFrom("uac" as const, "uas" as const),
      callId: fc.constantFrom("x", "y"),
      localTag: tag.map((t) => `us-${t}`),
      remoteTag: tag.map((t) => `them-${t}`),
      remove: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const store = new DialogStore<ReturnType<typeof dialog>>();
        const model = new Map<string, ReturnType<typeof dialog>>();
        for (const { role, callId, localTag, remoteTag, remove } of steps) {
          const key = `${callId} ${localTag} ${remoteTag}`;
          const known = model.get(key);
          if (remove && known) {
            store.delete(known);
            model.delete(key);
          } else if (!remove) {
            const fresh = dialog(role, callId, localTag, remoteTag);
            expect(store.add(fresh)).toBe(known === undefined);
            if (!known) model.set(key, fresh);
          }
          expect(store.size).toBe(model.size);
          for (const each of model.values()) {
            expect(store.find(each.data.callId, each.data.localTag, each.data.remoteTag)).toBe(each);
            expect(store.get(each.data.id)).toBe(each);
          }
        }
      }),
    );
  });
});

it("a subscription that is over is not kept by an answer that comes after its end", () => {
  const clock = new ManualClock();
  const granted = responseFor({ method: "SUBSCRIBE", branch: "z9hG4bK-1" }, 200);
  const dialogs = new EngineDialogs(clock, defaultTimers);
  const { data } = dialog("uac", "x", "us", "them");
  const subscription = dialogs.add(data, {} as AppSession, true) as EngineDialog;
  dialogs.subscribed(subscription, undefined, granted);
  expect(clock.pending).toBe(1);
  dialogs.delete(subscription);
  dialogs.subscribed(subscription, undefined, granted);
  expect(clock.pending).toBe(0);
});
