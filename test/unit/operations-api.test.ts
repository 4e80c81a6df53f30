import { afterEach, describe, expect, it } from "vitest";
import { AdminApi } from "../../src/operations/admin-api.ts";
import type { ExplainQuery } from "../../src/operations/explain-query.ts";
import { Metrics, single } from "../../src/operations/metrics.ts";

const agent = (hostname: string) => ({
  snapshot: () => ({ hostname, state: { letter: "I", word: "in-service" }, transitions: [{ to: "I" }] }),
});
const known = new Map([
  ["carrier-a", agent("carrier-a")],
  ["gw 1/é", agent("gw 1/é")],
]);
const views = {
  agents: { [Symbol.iterator]: () => known.values(), get: (hostname: string) => known.get(hostname) },
  groups: () => [{ "group-name": "carriers" }],
  calls: () => [{ id: "1" }],
  registrations: () => [],
  surrogates: () => [],
  explain: ({ to }: ExplainQuery) => (to === undefined ? { error: "to is missing" } : { candidates: [{ agent: to }] }),
};
const nothingMissing = () => [];

let stop: (() => Promise<void>) | undefined;
afterEach(async () => {
  await stop?.();
  stop = undefined;
});

async function serve(missing: () => readonly string[] = nothingMissing) {
  const api = new AdminApi(
    { ...views, missing },
    new Metrics([single("gauge", "weir_calls_active", "Calls.", () => 7)]),
  );
  const url = await api.start({ address: "127.0.0.1", port: 0 });
  stop = () => api.stop();
  const get = async (path: string) => {
    const response = await fetch(url + path);
    const text = await response.text();
    const type = response.headers.get("content-type") ?? "";
    return { status: response.status, type, text, json: type.includes("json") ? JSON.parse(text) : undefined };
  };
  return { get, url };
}

describe("the admin API", () => {
  it("lists agents without their history, groups and calls", async () => {
    const { get } = await serve();
    const shown = (hostname: string) => ({ hostname, state: { letter: "I", word: "in-service" } });
    expect((await get("/v1/agents")).json).toEqual({ agents: [shown("carrier-a"), shown("gw 1/é")] });
    expect((await get("/v1/groups")).json).toEqual({ groups: [{ "group-name": "carriers" }] });
    expect((await get("/v1/calls")).json).toEqual({ calls: [{ id: "1" }] });
  });

  it("explains where a call would go, and answers 400 to a question that is none", async () => {
    const { get } = await serve();
    expect((await get("/v1/explain?to=44")).json).toEqual({ candidates: [{ agent: "44" }] });
    expect(await get("/v1/explain")).toMatchObject({ status: 400, json: { error: "to is missing" } });
  });

  it("shows one agent with its last transitions, whatever its name", async () => {
    const { get } = await serve();
    expect((await get("/v1/agents/carrier-a")).json).toMatchObject({
      hostname: "carrier-a",
      transitions: [{ to: "I" }],
    });
    expect((await get(`/v1/agents/${encodeURIComponent("gw 1/é")}`)).json).toMatchObject({ hostname: "gw 1/é" });
  });

  it("answers 404 in JSON for an unknown agent and an unknown path", async () => {
    const { get } = await serve();
    expect(await get("/v1/agents/nobody")).toMatchObject({
      status: 404,
      json: { error: "there is no session agent nobody" },
    });
    expect(await get("/v2")).toMatchObject({ status: 404, json: { error: "there is no GET /v2" } });
  });

  it("serves metrics in the text format of Prometheus", async () => {
    const { get } = await serve();
    const { type, text } = await get("/metrics");
    expect(type).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(text).toMatch(/^weir_calls_active 7$/m);
    expect(text).toMatch(/^process_resident_memory_bytes \d/m);
  });

  it("is healthy as long as it answers, and ready when no part is missing", async () => {
    let missing = ["engine"];
    const { get } = await serve(() => missing);
    expect(await get("/healthz")).toMatchObject({ status: 200, json: { status: "ok" } });
    expect(await get("/readyz")).toMatchObject({ status: 503, json: { ready: false, missing: ["engine"] } });
    missing = [];
    expect(await get("/readyz")).toMatchObject({ status: 200, json: { ready: true, missing: [] } });
  });

  it("says which address it cannot have", async () => {
    const { url } = await serve();
    const port = Number(new URL(url).port);
    const second = new AdminApi({ ...views, missing: nothingMissing }, new Metrics([]));
    await expect(second.start({ address: "127.0.0.1", port })).rejects.toMatchObject({
      code: "WEIR_LISTEN_FAILED",
      detail: { address: "127.0.0.1", port },
      cause: { code: "EADDRINUSE" },
    });
    await second.stop();
  });

  it("ends at once although a scraper keeps its connection", async () => {
    const { get } = await serve();
    await get("/healthz");
    const started = performance.now();
    await stop?.();
    stop = undefined;
    expect(performance.now() - started).toBeLessThan(4_000);
    await expect(get("/healthz")).rejects.toThrow();
  });
});
