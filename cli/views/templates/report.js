
"use strict";
const box = document.getElementById("filter");
const count = document.getElementById("count");
const items = Array.from(document.querySelectorAll(".item"));
const texts = new Map(items.map((item) => [item, item.textContent.toLowerCase()]));

// Filtering needs a script.
box.closest("p").hidden = items.length === 0;
box.addEventListener("input", () => {
  const wanted = box.value.trim().toLowerCase();
  for (const item of items) item.hidden = !texts.get(item).includes(wanted);
  const left = items.filter((item) => !item.hidden).length;
  count.textContent = wanted ? `${left} of ${items.length}` : "";
});
