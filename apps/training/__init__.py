"""Small trainings in processes of their own, that can be watched and cancelled."""
