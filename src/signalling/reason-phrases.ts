/** Reason phrases, for those above who may not know the engine. */
export { reasonPhrase } from "../engine/message/reason-phrases.ts";
